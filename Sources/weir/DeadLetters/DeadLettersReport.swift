import EventLog
import Inspection
import Streams

/// Dead letters as a list.
struct DeadLettersReport {
    /// The list, ready to be written as a format has it: tables show places and times as people read them.
    static func table(_ letters: [DeadLetter], as format: DumpFormat) -> ReportTable {
        guard format == .table else { return fields(letters) }
        return ReportTable(
            columns: [
                .init("dead_letter"), .init("time"), .init("type"), .init("reason"),
                .init("bytes", isNumber: true), .init("origin"), .init("detail"),
            ],
            rows: letters.map { letter in
                [
                    .text(letter.place.description),
                    .text(UTC.text(milliseconds: letter.timestampMilliseconds)),
                    .text(letter.type), .text(letter.reason), integer(letter.valueBytes),
                    text(letter.origin?.description), .text(letter.detail),
                ]
            })
    }

    private static func fields(_ letters: [DeadLetter]) -> ReportTable {
        ReportTable(
            columns: [
                .init("topic"), .init("partition", isNumber: true),
                .init("offset", isNumber: true), .init("timestamp", isNumber: true),
                .init("type"), .init("reason"), .init("detail"), .init("bytes", isNumber: true),
                .init("origin"),
            ],
            rows: letters.map { letter in
                [
                    .text(letter.place.topic), .integer(Int128(letter.place.partition)),
                    .integer(Int128(letter.place.offset)),
                    .integer(Int128(letter.timestampMilliseconds)), .text(letter.type),
                    .text(letter.reason), .text(letter.detail), integer(letter.valueBytes),
                    text(letter.origin?.description),
                ]
            })
    }

    private static func integer(_ number: Int?) -> ReportValue {
        number.map { .integer(Int128($0)) } ?? .null
    }

    private static func text(_ text: String?) -> ReportValue { text.map { .text($0) } ?? .null }
}

/// What became of dead letters that were to be requeued.
struct RequeueReport {
    /// A line for each, in order.
    static func table(_ letters: [DeadLetter], _ outcomes: [Requeue.Outcome]) -> ReportTable {
        ReportTable(
            columns: [.init("dead_letter"), .init("result"), .init("copy"), .init("detail")],
            rows: zip(letters, outcomes).map { letter, outcome in
                let place = ReportValue.text(letter.place.description)
                return switch outcome {
                case .due: [place, .text("due"), .null, .text("")]
                case .requeued(let copy):
                    [place, .text("requeued"), .text(copy.description), .text("")]
                case .before(let copy):
                    [
                        place, .text("requeued_before"), .text(copy.description),
                        .text("nothing was published"),
                    ]
                case .impossible(let words): [place, .text("impossible"), .null, .text(words)]
                }
            })
    }

    /// How many there were of each kind, in words.
    static func summary(_ outcomes: [Requeue.Outcome], isDry: Bool) -> String {
        let requeued = outcomes.count { if case .requeued = $0 { true } else { false } }
        let due = outcomes.count { $0 == .due }
        let before = outcomes.count { if case .before = $0 { true } else { false } }
        let impossible = outcomes.count { if case .impossible = $0 { true } else { false } }
        return (isDry ? "\(due) would be requeued" : "\(requeued) requeued")
            + ", \(before) were before, \(impossible) cannot be"
    }
}
