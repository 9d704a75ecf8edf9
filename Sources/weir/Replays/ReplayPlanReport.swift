import Inspection
import Streams
import Worker

/// What a replay would read, as text.
struct ReplayPlanReport {
    private let plans: [ReplayPlan]

    init(_ plans: [ReplayPlan]) {
        self.plans = plans
    }

    func text(_ format: ReportFormat) -> String {
        switch format {
        case .table: table
        case .json: json
        }
    }

    private var table: String {
        let table = TextTable(
            header: ["topic", "partition", "from", "to", "records", "log", "archive", "gone"],
            isNumber: [false, true, true, true, true, false, false, false],
            rows: plans.flatMap { plan in
                plan.partitions.map { partition in
                    [
                        plan.topic, "\(partition.partition)", "\(partition.fromOffset)",
                        "\(partition.toOffset)", "\(partition.records)",
                        Self.words(partition.log), Self.words(partition.archive),
                        Self.words(partition.gone),
                    ]
                }
            })
        return (table.lines + [""] + plans.map(Self.summary)).joined(separator: "\n") + "\n"
    }

    /// Offsets, both of records.
    private static func words(_ offsets: Range<Int64>?) -> String {
        guard let offsets, !offsets.isEmpty else { return "" }
        return "\(offsets.lowerBound)-\(offsets.upperBound - 1)"
    }

    private static func summary(_ plan: ReplayPlan) -> String {
        var words = "\(plan.topic): \(plan.records) records"
        if let rate = plan.recordsPerSecond, let seconds = plan.seconds {
            words += ", \(Int64(rate)) a second in a sample: about \(duration(seconds))"
        }
        switch plan.mode {
        case .recorded: words += "; each under its recorded configuration"
        case .present: words += "; under the present configuration"
        }
        if plan.lacksStore { words += ", since no store has recorded any" }
        let gone = plan.partitions.reduce(0) { $0 + Int64($1.gone?.count ?? 0) }
        if gone > 0 {
            words +=
                "; \(gone) offsets are gone: give --archive a copy that has them, or do without them"
        }
        return words
    }

    private static func duration(_ seconds: Double) -> String {
        let seconds = Int64(seconds.rounded(.up))
        if seconds < 120 { return "\(seconds) s" }
        return seconds < 7200 ? "\(seconds / 60) min" : "\(seconds / 3600) h"
    }

    private var json: String {
        var json = JSONText()
        json.array { json in
            for plan in plans {
                json.object { json in
                    json.name("stream")
                    json.string(plan.stream)
                    json.name("topic")
                    json.string(plan.topic)
                    json.name("configuration")
                    json.string(plan.mode.rawValue)
                    json.name("records")
                    json.raw(plan.records)
                    json.name("records_per_second")
                    json.raw(plan.recordsPerSecond.map { "\(Int64($0))" } ?? "null")
                    json.name("seconds")
                    json.raw(plan.seconds.map { "\(Int64($0.rounded(.up)))" } ?? "null")
                    json.name("partitions")
                    json.array { json in
                        for partition in plan.partitions { Self.write(partition, to: &json) }
                    }
                }
            }
        }
        return json.text.withoutControlsInJSON + "\n"
    }

    private static func write(_ partition: ReplayPlan.Partition, to json: inout JSONText) {
        json.object { json in
            json.name("partition")
            json.raw(partition.partition)
            json.name("from")
            json.raw(partition.fromOffset)
            json.name("to")
            json.raw(partition.toOffset)
            json.name("records")
            json.raw(partition.records)
            write("log", partition.log, to: &json)
            write("archive", partition.archive, to: &json)
            write("gone", partition.gone, to: &json)
        }
    }

    /// The first offset and the one behind the last, or null.
    private static func write(_ name: String, _ offsets: Range<Int64>?, to json: inout JSONText) {
        json.name(name)
        guard let offsets, !offsets.isEmpty else { return json.raw("null") }
        json.array { json in
            json.raw(offsets.lowerBound)
            json.raw(offsets.upperBound)
        }
    }
}
