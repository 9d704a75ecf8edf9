import Reports

/// What a requeue did, or would do.
package enum RequeueReport {
    package static func table(_ letters: [DeadLetter], _ outcomes: [Requeue.Outcome]) -> ReportTable
    {
        ReportTable(
            columns: [.init("dead_letter"), .init("result"), .init("copy"), .init("detail")],
            rows: zip(letters, outcomes).map { letter, outcome in
                let position = ReportValue.text(letter.position.description)
                return switch outcome {
                case .due: [position, .text("due"), .null, .text("")]
                case .requeued(let copy):
                    [position, .text("requeued"), .text(copy.description), .text("")]
                case .before(let copy):
                    [
                        position, .text("requeued_before"), .text(copy.description),
                        .text("nothing was published"),
                    ]
                case .impossible(let explanation):
                    [position, .text("impossible"), .null, .text(explanation)]
                }
            })
    }

    package static func summary(_ outcomes: [Requeue.Outcome], isDry: Bool) -> String {
        var (due, requeued, before, impossible) = (0, 0, 0, 0)
        for outcome in outcomes {
            switch outcome {
            case .due: due += 1
            case .requeued: requeued += 1
            case .before: before += 1
            case .impossible: impossible += 1
            }
        }
        return (isDry ? "\(due) would be requeued" : "\(requeued) requeued")
            + ", \(before) requeued before, \(impossible) impossible"
    }
}
