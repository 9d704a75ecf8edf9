import Inspection
import PartnerPostbacks
import Streams

/// Deliveries as text.
struct DeliveriesReport {
    private let deliveries: [Delivery]

    init(_ deliveries: [Delivery]) {
        self.deliveries = deliveries
    }

    func text(_ format: ReportFormat) -> String {
        switch format {
        case .table: table
        case .json: json
        }
    }

    private var table: String {
        guard !deliveries.isEmpty else { return "no deliveries\n" }
        let table = TextTable(
            header: [
                "id", "revision", "partner", "state", "attempts", "changed", "next_attempt",
                "reason",
            ],
            isNumber: [false, true, false, false, true, false, false, false],
            rows: deliveries.map { delivery in
                [
                    delivery.id, "\(delivery.revision)", delivery.partner,
                    delivery.state.rawValue, "\(delivery.attempts)",
                    UTC.text(milliseconds: delivery.changedMilliseconds),
                    delivery.nextAttemptMilliseconds.map { UTC.text(milliseconds: $0) } ?? "",
                    delivery.reason,
                ]
            })
        return table.lines.joined(separator: "\n") + "\n"
    }

    private var json: String {
        var json = JSONText()
        json.array { json in
            for delivery in deliveries {
                json.object { json in Self.write(delivery, to: &json) }
            }
        }
        return json.text.withoutControlsInJSON + "\n"
    }

    /// Writes the members of a delivery.
    static func write(_ delivery: Delivery, to json: inout JSONText) {
        json.name("id")
        json.string(delivery.id)
        json.name("revision")
        json.raw(delivery.revision)
        json.name("partner")
        json.string(delivery.partner)
        json.name("state")
        json.string(delivery.state.rawValue)
        json.name("reason")
        json.string(delivery.reason.isEmpty ? nil : delivery.reason)
        json.name("attempts")
        json.raw(delivery.attempts)
        json.name("created_at")
        json.string(UTC.text(milliseconds: delivery.createdMilliseconds))
        json.name("changed_at")
        json.string(UTC.text(milliseconds: delivery.changedMilliseconds))
        json.name("next_attempt_at")
        json.string(delivery.nextAttemptMilliseconds.map { UTC.text(milliseconds: $0) })
        json.name("partition")
        json.raw(delivery.partition)
        json.name("offset")
        json.raw(delivery.offset)
    }
}

/// One delivery with all there is of it, as text.
struct DeliveryReport {
    var delivery: Delivery
    var attempts: [StoredAttempt]
    var document: [UInt8]

    func text(_ format: ReportFormat) -> String {
        switch format {
        case .table: table
        case .json: json
        }
    }

    private var table: String {
        let reason = delivery.reason.isEmpty ? "" : " (\(delivery.reason))"
        var lines = [
            "\(delivery.id):\(delivery.revision) for \(delivery.partner): \(delivery.state.rawValue)\(reason)",
            "partition \(delivery.partition), offset \(delivery.offset), taken over at \(UTC.text(milliseconds: delivery.createdMilliseconds))",
        ]
        if let next = delivery.nextAttemptMilliseconds {
            lines.append("next attempt at \(UTC.text(milliseconds: next))")
        }
        if !attempts.isEmpty {
            lines +=
                TextTable(
                    header: ["attempt", "at", "milliseconds", "status", "fault"],
                    isNumber: [true, false, true, true, false],
                    rows: attempts.map { attempt in
                        [
                            "\(attempt.number)",
                            UTC.text(milliseconds: attempt.startedMilliseconds),
                            "\(attempt.durationMilliseconds)", attempt.status.map { "\($0)" } ?? "",
                            attempt.fault ?? "",
                        ]
                    }
                ).lines
        }
        lines.append(String(decoding: document, as: UTF8.self))
        return lines.map(\.withoutControls).joined(separator: "\n") + "\n"
    }

    private var json: String {
        var json = JSONText()
        json.object { json in
            DeliveriesReport.write(delivery, to: &json)
            json.name("history")
            json.array { json in for attempt in attempts { Self.write(attempt, to: &json) } }
            json.name("document")
            json.string(String(decoding: document, as: UTF8.self))
        }
        return json.text.withoutControlsInJSON + "\n"
    }

    private static func write(_ attempt: StoredAttempt, to json: inout JSONText) {
        json.object { json in
            json.name("attempt")
            json.raw(attempt.number)
            json.name("at")
            json.string(UTC.text(milliseconds: attempt.startedMilliseconds))
            json.name("duration_ms")
            json.raw(attempt.durationMilliseconds)
            json.name("status")
            json.raw(attempt.status.map { "\($0)" } ?? "null")
            json.name("fault")
            json.string(attempt.fault)
        }
    }
}
