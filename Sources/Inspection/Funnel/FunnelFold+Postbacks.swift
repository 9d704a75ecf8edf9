import AggregateStore
import ConversionModels
import Pipelines
import Streams

extension FunnelFold {
    /// Adds the postbacks of a store. What is worked out of several rows is worked out of those of one
    /// partition, so that it is the same in whichever stores the partitions lie.
    mutating func addPostbacks(_ copy: StoreView.Copy) throws {
        var rows: [RowKeyBytes: WinningPostbacks] = [:]
        try copy.forEachRow(of: FunnelSource.postbacks) {
            partition, columns, measures in
            guard
                let row = WinningPostbacks(
                    partition, columns, measures, trustsDevelopment: trustsDevelopment)
            else { return }
            let key = RowKeyBytes(partition, columns)
            if rows[key]?.add(row) == nil { rows[key] = row }
        }
        let zeros = dateRule == .install ? try fineZeros(copy) : [:]
        let recorded = try copy.recordedDecodings()
        var installs: Set<RowKeyBytes> = []
        for (key, row) in rows {
            let model = recorded[row.partition]?.models[row.app]
            add(row, model: model, allAreZero: zeros[key] == row.count)
            if row.hasInstall { installs.insert(row.decodedKey) }
        }
        try addDecodedEvents(copy, withInstall: installs)
        try addValues(copy, recorded)
    }

    private mutating func add(
        _ row: WinningPostbacks, model: ConversionModel?, allAreZero: Bool
    ) {
        let place = datedPlace(
            hour: row.hour, network: row.network, app: row.app, campaign: row.campaign,
            kind: row.kind, sequenceIndex: row.sequenceIndex, hasInstall: row.hasInstall)
        let interval = installInterval(of: row, allAreZero: allAreZero)
        let received = hours.hour(row.hour).milliseconds
        add(place) { sums in
            sums.reach.add(
                row.nullValues, model, received: received, timing: row.timing, fine: nil,
                coarse: nil, sequenceIndex: Int(row.sequenceIndex))
            sums.add(row.count, to: .postbacks)
            sums.add(row.nullValues, to: .nullValues)
            if row.sequenceIndex == 0 {
                switch row.conversionType {
                case "download": sums.add(row.count, to: .installs)
                case "redownload": sums.add(row.count, to: .redownloads)
                default: sums.add(row.count, to: .reengagements)
                }
            }
            if !place.day.isEmpty { sums.note(day: place.day, kinds: PostbackKinds(row.kind)) }
            sums.note(installs: interval)
        }
    }

    /// What the values that came stand for, whatever they leave open.
    private mutating func addValues(
        _ copy: StoreView.Copy, _ recorded: [Int32: RecordedDecoding]
    ) throws {
        try copy.forEachRow(of: ValuedPostbacks.table) { partition, columns, measures in
            guard let row = ValuedPostbacks(columns, measures),
                row.isTrusted(trustsDevelopment: trustsDevelopment)
            else { return }
            let model = recorded[partition]?.models[row.app]
            let received = hours.hour(row.hour).milliseconds
            let place = datedPlace(
                hour: row.hour, network: row.network, app: row.app, campaign: row.campaign,
                kind: row.kind, sequenceIndex: row.sequenceIndex, hasInstall: row.hasInstall)
            add(place) { sums in
                sums.reach.add(
                    Int128(row.count), model, received: received, timing: row.timing,
                    fine: row.fine, coarse: row.coarse, sequenceIndex: Int(row.sequenceIndex))
            }
        }
    }

    /// - Parameter installs: what the rows of postbacks that say when an app was installed have in
    ///   common with rows of decoded events.
    private mutating func addDecodedEvents(
        _ copy: StoreView.Copy, withInstall installs: Set<RowKeyBytes>
    ) throws {
        try copy.forEachRow(of: FunnelSource.decodedEvents) { partition, columns, measures in
            let key = RowKeyBytes(partition, columns[0...5] + columns[7...])
            let place = datedPlace(
                hour: columns[0].text, network: columns[1].text, app: columns[3].integer,
                campaign: columns[2].text,
                kind: CampaignIDKind(hasSourceIdentifier: columns[7].integer != 0),
                sequenceIndex: columns[5].integer, hasInstall: installs.contains(key))
            add(place) { sums in
                sums.add(
                    revenueMinMicros: measures[0], max: measures[1], currency: columns[6])
            }
        }
    }

    /// The place of postbacks: their hour of arrival, or the hour of the latest possible install.
    ///
    /// The latest install lies whole hours before the arrival, so that its hour and day are exact
    /// although stores know the hour of the arrival only.
    private mutating func datedPlace(
        hour text: String, network: String, app: Int64, campaign: String, kind: CampaignIDKind,
        sequenceIndex: Int64, hasInstall: Bool
    ) -> Place {
        let arrival = hours.hour(text)
        var time: Int64? = arrival.milliseconds
        var day = arrival.day
        if dateRule == .install {
            time =
                hasInstall
                ? PostbackTiming(kind, sequenceIndex: sequenceIndex).latestInstall(
                    received: arrival.milliseconds) : nil
            day = time.map { String(Hour(containing: $0).text.prefix { $0 != "T" }) } ?? ""
        }
        return Place(
            timeMilliseconds: time, day: day, network: network, app: app, campaign: campaign,
            kind: kind)
    }

    private mutating func installInterval(
        of row: WinningPostbacks, allAreZero: Bool
    ) -> InstallInterval {
        guard dateRule == .install, row.hasInstall else { return InstallInterval() }
        let arrival = hours.hour(row.hour).milliseconds
        let window = row.timing.installWindow(
            received: arrival, fineIsZero: allAreZero, reEngagement: false, development: false)
        guard let latest = window.latest else { return InstallInterval() }
        return InstallInterval(earliest: window.earliest, latest: latest + Hour.milliseconds)
    }

    /// How many postbacks of each row of `postbacks` have the fine value 0: up to 3.0 only theirs say
    /// when the app was installed at the earliest.
    private func fineZeros(_ copy: StoreView.Copy) throws -> [RowKeyBytes: Int128] {
        let width = FunnelSource.postbacks.columns.count
        var zeros: [RowKeyBytes: Int128] = [:]
        try copy.forEachRow(of: FunnelSource.conversionValues) { partition, columns, measures in
            guard columns[width] == .text("fine"), columns[width + 1] == .text("0") else { return }
            zeros[RowKeyBytes(partition, columns[..<width]), default: 0] += Int128(measures[0])
        }
        return zeros
    }
}

extension PostbackTiming {
    fileprivate func latestInstall(received: Int64) -> Int64? {
        installWindow(received: received, fineIsZero: true, reEngagement: false, development: false)
            .latest
    }
}
