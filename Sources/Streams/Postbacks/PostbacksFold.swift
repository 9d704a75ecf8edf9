import ConversionModels
import EventLog
import JSON
import Signatures

package final class PostbacksFold: LastingFold {
    package let state: LastingState
    let rules: PostbacksRules
    /// By app.
    private let models: [Int64: ConversionModel]
    /// Sorted by name.
    let partners: [PartnerRule]
    let topic: String
    let parser: JSONParser
    let jwsParser: JSONParser
    private let attestor: Attestor
    private let decoder: PostbacksDecoder
    private var idBuilder = RecordIDBuilder()

    let postbacks = DeltaTable<PostbacksKey>()
    let conversionValues = DeltaTable<ConversionValuesKey>()
    let decodedEvents = DeltaTable<DecodedEventsKey>()
    let installCohorts = DeltaTable<InstallCohortsKey>()
    package var deltas: [Deltas] { [postbacks, conversionValues, decodedEvents, installCohorts] }
    /// The best accepted copy of each postback.
    let accepted: LastingRows<RememberedPostback>
    /// Every decoded copy of the batch, in order, with the symbols of the effects.
    private var copies: [PostbackCopy] = []
    package internal(set) var outbox: [PartnerPostback] = []

    /// Creates a fold. It owns the two parsers from now on; `memory` is the store's memory.
    package init(
        topic: String, rules: PostbacksRules, attestor: Attestor, parser: JSONParser,
        jwsParser: JSONParser, memory: any FoldMemory
    ) {
        self.topic = topic
        self.rules = rules
        models = Dictionary(rules.models.map { ($0.app, $0) }, uniquingKeysWith: { a, _ in a })
        partners = rules.partners.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        self.attestor = attestor
        self.parser = parser
        self.jwsParser = jwsParser
        decoder = PostbacksDecoder(jwsParser: jwsParser)
        state = LastingState(topic: topic, memory: memory)
        accepted = state.rows(of: RememberedPostback.self)
    }

    package func writeMemory(to writer: any FoldMemoryWriter) throws {
        try state.write(to: writer)
        for copy in copies {
            try writer.write(
                copy.row(state.effects.symbols), to: PostbackCopy.table, partition: copy.partition)
        }
    }

    /// Decodes a batch, and starts verifying its signatures on other threads.
    package func prepare(_ batch: RecordBatch) -> PreparedPostbacks {
        decoder.begin()
        var items: [PreparedPostbacks.Item] = []
        var requests: [AttestationRequest] = []
        items.reserveCapacity(batch.count)
        requests.reserveCapacity(batch.count)
        for index in 0..<batch.count {
            let record = batch[index]
            let envelope = Envelope<PostbacksEventType>(record)
            var item = PreparedPostbacks.Item(
                countedType: envelope.countedType, event: .failure(.overflow))
            do throws(Rejection) {
                let (event, request) = try decode(record, envelope)
                item.event = .success(event)
                requests.append(request)
            } catch {
                item.event = .failure(error)
                requests.append(.invalid)
            }
            items.append(item)
        }
        return PreparedPostbacks(
            batch: batch, items: items, bytes: decoder.bytes, requests: requests,
            attestor: attestor)
    }

    package func verifications(in prepared: PreparedPostbacks) -> Int {
        prepared.verifications
    }

    package func take(
        _ record: RecordView, at position: FoldPosition, of prepared: PreparedPostbacks
    ) throws -> (Outcome, StaticString) {
        let item = prepared.items[position.index]
        switch item.event {
        case .failure(let rejection):
            refuse(record, at: position, .rejected(rejection))
            return (.rejected, item.countedType)
        case .success(let decoded):
            let outcome = try take(decoded, of: record, at: position, prepared)
            return (outcome, item.countedType)
        }
    }

    private func take(
        _ decoded: PostbacksEvent, of record: RecordView, at position: FoldPosition,
        _ prepared: PreparedPostbacks
    ) throws -> Outcome {
        let result = prepared.results[position.index]
        let event = decoded.inForm(result.form)
        let id = id(of: event, prepared)
        let values = unsignedValues(of: event, prepared)
        let earlier = try state.remembered(id, in: accepted, at: position)
        let outcome = Self.outcome(of: result.verdict, values, beside: earlier)
        if let earlier {
            state.effects.remember(
                earlier.answers(withPublished: outcome == .accepted), about: position)
        }
        let key = key(of: event, result.verdict, prepared)
        copies.append(
            PostbackCopy(
                id: id, route: PostbackRoute(record) ?? .device, partition: position.partition,
                offset: position.offset, timestampMilliseconds: position.timestampMilliseconds,
                outcome: outcome, verdict: result.verdict, values: values,
                campaign: key.campaign, sequenceIndex: event.sequenceIndex,
                hasSourceIdentifier: event.hasSourceIdentifier, didWin: event.didWin))
        if outcome == .conflicts, let earlier {
            refuse(
                record, at: position,
                .conflict(detail: "has other values than offset \(earlier.offset)"))
        }
        if outcome == .accepted {
            var copy = RememberedPostback(
                rank: result.verdict.rank, offset: record.offset, values: values,
                published: earlier?.published ?? [:])
            add(event, result, key, position, prepared, &copy)
            accepted.write(copy, id, position.partition)
        }
        return outcome
    }

    package func clear() {
        clearTables()
        copies.removeAll(keepingCapacity: true)
        outbox.removeAll(keepingCapacity: true)
    }

    package static func originalOffset(in answers: [UInt8]) -> Int64? {
        RememberedPostback(answers: answers)?.offset
    }
}

extension PostbacksFold {
    private func decode(
        _ record: RecordView, _ envelope: Envelope<PostbacksEventType>
    ) throws(Rejection) -> (PostbacksEvent, AttestationRequest) {
        let value = try envelope.value(
            of: record, parser: parser, maxRecordBytes: rules.maxRecordBytes)
        let via = PostbackRoute(record)
        return switch envelope.type ?? .byDefault {
        case .skAdNetwork: try decoder.skAdNetwork(value, via: via)
        case .adAttributionKit: try decoder.adAttributionKit(value, via: via)
        }
    }

    /// The outcome of a copy. A verdict that ranks above those of all accepted copies counts as new.
    private static func outcome(
        of verdict: Verdict, _ values: UnsignedValues, beside earlier: RememberedPostback?
    ) -> Outcome {
        guard let earlier, verdict.rank <= earlier.rank else { return .accepted }
        return earlier.values == values || verdict.rank < earlier.rank ? .duplicates : .conflicts
    }

    private func id(of event: PostbacksEvent, _ prepared: PreparedPostbacks) -> RecordID {
        idBuilder.begin()
        idBuilder.add(event.framework.framework)
        prepared.bytes.withUnsafeBytes { bytes in
            idBuilder.addLowercased(UnsafeRawBufferPointer(rebasing: bytes[event.network]))
            idBuilder.addLowercased(UnsafeRawBufferPointer(rebasing: bytes[event.transaction]))
        }
        idBuilder.add(Int64(event.sequenceIndex))
        return idBuilder.finish()
    }

    private func unsignedValues(
        of event: PostbacksEvent, _ prepared: PreparedPostbacks
    ) -> UnsignedValues {
        UnsignedValues(
            fineValue: event.fineValue, coarseValue: event.coarseValue,
            country: prepared.text(event.country),
            interaction: event.interactionWord.map { prepared.text($0) })
    }

    private func add(
        _ event: PostbacksEvent, _ result: AttestationResult, _ key: PostbacksKey,
        _ position: FoldPosition, _ prepared: PreparedPostbacks,
        _ copy: inout RememberedPostback
    ) {
        let row = postbacks.row(key, at: position)
        postbacks.count(.postbacks, row: row)
        if event.didWin, event.fineValue == nil, event.coarseValue == nil {
            postbacks.count(.nullValues, row: row)
        }
        if let value = event.fineValue {
            addValue("fine", state.effects.symbols.intern(decimal: Int64(value)), of: key, position)
        }
        if let value = event.coarseValue {
            addValue("coarse", state.effects.symbols.intern(value.name), of: key, position)
        }
        let model = models[event.appID]
        let decoding = model?.decoding(
            received: position.timestampMilliseconds, timing: event.timing, fine: event.fineValue,
            coarse: event.coarseValue, sequenceIndex: event.sequenceIndex)
        if event.didWin, isTrusted(result.verdict) {
            if let decoding { addEvents(of: decoding, event, key, position) }
            let install = event.likelyInstall(
                received: position.timestampMilliseconds, verdict: result.verdict, model: model)
            addToCohort(event, of: install, decoding, key, position)
        }
        publish(event, result, decoding, position, prepared, &copy)
    }

    private func isTrusted(_ verdict: Verdict) -> Bool {
        verdict == .valid || (verdict == .development && rules.trustsDevelopment)
    }

    private func key(
        of event: PostbacksEvent, _ verdict: Verdict, _ prepared: PreparedPostbacks
    ) -> PostbacksKey {
        prepared.bytes.withUnsafeBytes { bytes in
            func text(_ range: Range<Int>) -> UnsafeRawBufferPointer {
                UnsafeRawBufferPointer(rebasing: bytes[range])
            }
            let campaign =
                switch event.campaign {
                case .none: Symbol.empty
                case .text(let range): state.effects.symbols.intern(text(range))
                case .number(let number): state.effects.symbols.intern(decimal: number)
                }
            return PostbacksKey(
                framework: state.effects.symbols.intern(event.framework.framework),
                version: state.effects.symbols.intern(text(event.version)),
                campaign: CampaignKey(
                    adNetworkID: state.effects.symbols.internLowercased(text(event.network)),
                    campaign: campaign, appID: event.appID, sourceAppID: event.sourceAppID ?? 0),
                sourceDomain: state.effects.symbols.intern(text(event.sourceDomain)),
                sequenceIndex: Int64(event.sequenceIndex),
                interaction: state.effects.symbols.intern(event.interaction.name),
                conversionType: state.effects.symbols.intern(event.conversionType.name),
                marketplace: state.effects.symbols.intern(text(event.marketplace)),
                didWin: event.didWin,
                verdict: state.effects.symbols.intern(verdict.name),
                country: state.effects.symbols.intern(text(event.country)))
        }
    }

    private func addValue(
        _ kind: StaticString, _ value: Symbol, of key: PostbacksKey, _ position: FoldPosition
    ) {
        let key = ConversionValuesKey(
            postback: key, kind: state.effects.symbols.intern(kind), value: value)
        conversionValues.count(.postbacks, row: conversionValues.row(key, at: position))
    }

    private func addEvents(
        of decoding: ModelDecoding, _ postback: PostbacksEvent, _ key: PostbacksKey,
        _ position: FoldPosition
    ) {
        for event in decoding.events {
            let row = decodedEvents.row(
                DecodedEventsKey(
                    campaign: key.campaign, sequenceIndex: key.sequenceIndex,
                    model: state.effects.symbols.intern(decoding.versionID),
                    event: state.effects.symbols.intern(event.event),
                    currency: state.effects.symbols.intern(decoding.currency),
                    hasSourceIdentifier: postback.hasSourceIdentifier),
                at: position)
            decodedEvents.add(event.countMin, to: .countMin, row: row)
            decodedEvents.add(event.countMax, to: .countMax, row: row)
            decodedEvents.add(event.revenueMinMicros, to: .revenueMinMicros, row: row)
            decodedEvents.add(event.revenueMaxMicros, to: .revenueMaxMicros, row: row)
            if decoding.ambiguous { decodedEvents.count(.ambiguous, row: row) }
        }
    }

    private func addToCohort(
        _ event: PostbacksEvent, of install: Int64?, _ decoding: ModelDecoding?,
        _ key: PostbacksKey, _ position: FoldPosition
    ) {
        let row = installCohorts.row(
            InstallCohortsKey(
                window: key.sequenceIndex, campaign: key.campaign,
                currency: decoding.map { state.effects.symbols.intern($0.currency) } ?? .empty,
                hasSourceIdentifier: event.hasSourceIdentifier),
            at: position,
            hour: install.map { Hour(containing: $0).startOfDay } ?? .unknown)
        installCohorts.count(.postbacks, row: row)
        if event.sequenceIndex == 0, event.conversionType == .download {
            installCohorts.count(.installs, row: row)
        }
        if event.fineValue == nil, event.coarseValue == nil {
            installCohorts.count(.nullValues, row: row)
        }
        for event in decoding?.events ?? [] {
            installCohorts.add(event.revenueMinMicros, to: .revenueMinMicros, row: row)
            installCohorts.add(event.revenueMaxMicros, to: .revenueMaxMicros, row: row)
        }
    }
}

extension PreparedPostbacks {
    func text(_ range: Range<Int>) -> String {
        range.isEmpty ? "" : String(decoding: bytes[range], as: UTF8.self)
    }
}

/// A batch of decoded postbacks, with signatures under verification.
package final class PreparedPostbacks: PreparedBatch {
    struct Item {
        var countedType: StaticString
        var event: Result<PostbacksEvent, Rejection>
    }

    package let batch: RecordBatch
    let items: [Item]
    let bytes: [UInt8]
    private var pending: PendingAttestation?
    /// The result for each decoded record; results of other records are meaningless. Waits for the verification.
    private(set) lazy var results = pending.take()?.finish() ?? []

    init(
        batch: RecordBatch, items: [Item], bytes: [UInt8], requests: [AttestationRequest],
        attestor: Attestor
    ) {
        self.batch = batch
        self.items = items
        self.bytes = bytes
        pending = attestor.begin(requests, bytes: bytes)
    }

    /// The number of decoded records; each gets a verdict.
    var verifications: Int {
        items.count { item in
            if case .success = item.event { true } else { false }
        }
    }
}
