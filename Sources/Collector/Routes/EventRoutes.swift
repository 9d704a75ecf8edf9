import EventLog
import HTTPTypes
import JSON
import Streams

/// Events of producers with a key: one, or a batch with one per line (NDJSON). Costs can also be CSV.
struct EventRoutes: Sendable {
    /// The outcome of one line of a batch: its range among all records, or the reason for its rejection.
    private enum Line {
        case taken(Range<Int>)
        case refused(reason: String, detail: String)

        init(_ rejection: Rejection) {
            self = .refused(reason: rejection.reason.name, detail: rejection.detail)
        }
    }

    private static let batchType = "application/x-ndjson"
    private static let tableType = "text/csv"
    private static let typeHeader = HTTPField.Name("ce-type")
    private static let otherTypeHeader = HTTPField.Name("ce_type")
    private static let costsPath = "/v1/costs"
    /// Most lines of a batch.
    private static let maxLines = 10_000

    let appender: DurableAppender
    let readers: KeyReaders
    let access: CollectorAccess
    let maxBatchBytes: Int

    var routes: [CollectorRoute] {
        [
            CollectorRoute(
                .post, "/v1/events/{topic}", mediaTypes: ["application/json", Self.batchType],
                maxBodyBytes: maxBatchBytes, admission: refusal, answer: answer),
            CollectorRoute(
                .post, Self.costsPath,
                mediaTypes: ["application/json", Self.batchType, Self.tableType],
                maxBodyBytes: maxBatchBytes, admission: refusal, answer: answer),
        ]
    }

    /// Rejects a request without a key before its body is read.
    @Sendable private func refusal(_ request: CollectorRequest) -> CollectorResponse? {
        guard let stream = Self.stream(of: request) else {
            return Self.unknownTopic
        }
        return access.rules.producers.refusal(of: request, stream: stream)
    }

    private static func stream(of request: CollectorRequest) -> (any StreamFold.Type)? {
        // The route without a topic is that of costs.
        guard let topic = request.parameters.get("topic") else { return CostsFold.self }
        return producedStreams.first { $0.streamName == topic }
    }

    private static var unknownTopic: CollectorResponse {
        let valid = producedStreams.map { $0.streamName }.joined(separator: ", ")
        return .refusal(404, "unknown_topic", "the topics for events are \(valid)")
    }

    @Sendable private func answer(_ request: CollectorRequest) async throws -> CollectorResponse {
        guard let stream = Self.stream(of: request) else {
            return Self.unknownTopic
        }
        let type =
            request.header(Self.typeHeader) ?? request.header(Self.otherTypeHeader)
            ?? request.query["ce_type"]
            ?? request.query["type"] ?? stream.defaultType
        return switch request.mediaType {
        case Self.batchType: try await batch(request, stream, type)
        case Self.tableType: try await table(request)
        default: try await one(request, stream, type)
        }
    }

    private func one(
        _ request: CollectorRequest, _ stream: any StreamFold.Type, _ type: String
    ) async throws -> CollectorResponse {
        let records = try readers.records(of: request.body, stream, type: type, request)
        let positions = try await appender.append(records)
        var json = JSONText()
        json.object { $0.objects("records", positions, Self.writeMembers) }
        return .json(200, json)
    }
}

// MARK: Batches

extension EventRoutes {
    private func batch(
        _ request: CollectorRequest, _ stream: any StreamFold.Type, _ type: String
    ) async throws(AppendRefusal) -> CollectorResponse {
        var all: [OutgoingRecord] = []
        var lines: [Line] = []
        for line in request.body.split(
            separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        where line.contains(where: { $0 > 0x20 }) {
            guard lines.count < Self.maxLines else { return Self.tooManyLines }
            take(Array(line), stream, type, request, into: &all, &lines)
        }
        guard !lines.isEmpty else {
            return .refusal(400, "malformed_json", "the batch has no lines")
        }
        return Self.answer(lines, try await appender.append(all))
    }

    /// Costs as CSV: the first line names the fields.
    private func table(
        _ request: CollectorRequest
    ) async throws(AppendRefusal) -> CollectorResponse {
        let table: CostsTable
        do throws(CostsLineFault) {
            table = try CostsTable(namedColumns: request.body)
        } catch {
            return .refusal(400, Self.malformedTable, "line \(error.line): \(error)")
        }
        guard table.lines.count <= Self.maxLines else { return Self.tooManyLines }
        guard !table.lines.isEmpty else {
            return .refusal(400, Self.malformedTable, "the table has no line after its header")
        }
        var all: [OutgoingRecord] = []
        var lines: [Line] = []
        for line in table.lines {
            switch line {
            case .success(let report):
                take(
                    report.event, CostsFold.self, CostsFold.defaultType, request, into: &all,
                    &lines)
            case .failure(let fault):
                lines.append(
                    .refused(reason: Self.malformedTable, detail: "line \(fault.line): \(fault)"))
            }
        }
        return Self.answer(lines, try await appender.append(all))
    }

    private static let malformedTable = "malformed_csv"

    private static var tooManyLines: CollectorResponse {
        .refusal(413, "too_large", "the batch is too long: the limit is \(maxLines) lines")
    }

    /// Adds the records of an event, or the reason for its rejection.
    private func take(
        _ event: [UInt8], _ stream: any StreamFold.Type, _ type: String,
        _ request: CollectorRequest, into all: inout [OutgoingRecord], _ lines: inout [Line]
    ) {
        do throws(Rejection) {
            let records = try readers.records(of: event, stream, type: type, request)
            lines.append(.taken(all.count..<all.count + records.count))
            all += records
        } catch {
            lines.append(Line(error))
        }
    }

    /// 200 if all lines were accepted, 207 if some, 400 if none.
    private static func answer(
        _ lines: [Line], _ positions: [RecordPosition]
    ) -> CollectorResponse {
        let takenCount = lines.count { if case .taken = $0 { true } else { false } }
        var json = JSONText()
        json.object { json in
            json.member("accepted", takenCount)
            json.member("refused", lines.count - takenCount)
            json.objects("lines", lines) { line, json in
                switch line {
                case .taken(let range): json.objects("records", positions[range], writeMembers)
                case .refused(let reason, let detail):
                    json.member("error", reason)
                    json.member("detail", detail)
                }
            }
        }
        let status = takenCount == lines.count ? 200 : takenCount > 0 ? 207 : 400
        return .json(status, json)
    }

    private static func writeMembers(of position: RecordPosition, to json: inout JSONText) {
        json.member("partition", position.partition)
        json.member("offset", position.offset)
    }
}
