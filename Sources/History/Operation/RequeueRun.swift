import EventLog
import Foundation
import Program
import Reports
import Store

/// Requeues dead letters for a command or a page.
package struct RequeueRun {
    private let directories: [String]
    private let requeue: Requeue

    package init(_ requeue: Requeue, in directories: [String]) {
        self.requeue = requeue
        self.directories = directories
    }

    /// Locks the data directories. Two concurrent runs would both find that a copy is missing.
    package static func lock(_ directories: [String]) throws -> [StoreLock] {
        try directories.map { directory in
            do throws(StoreError) {
                return try StoreLock(storePath: "\(directory)/requeue")
            } catch {
                guard case .locked(_, let owner) = error else { throw error }
                throw CommandError.failure(
                    "another requeue of dead letters is running in \(directory)\(owner): wait until it ends"
                )
            }
        }
    }

    /// Publishes what is due, and records it in the operator's log. The directories must be locked.
    ///
    /// - Parameter outcomes: the plan, and then what was done, also after an error.
    /// - Returns: false if an action with this id began earlier.
    @discardableResult
    package func publish(
        _ letters: [DeadLetter], _ outcomes: inout [Requeue.Outcome], by user: Operator,
        id: String = UUID().uuidString
    ) throws -> Bool {
        let plan = outcomes
        var noted = outcomes
        defer { outcomes = noted }
        return try OperatorLog(directories: directories).record(
            .requeue, of: DeadLetterList.text(letters.map(\.position)), by: user, id: id
        ) {
            do {
                try requeue.publish(letters, plan) { noted[$0] = $1 }
            } catch {
                throw CommandError.failure(
                    "\(CommandError(error)?.explanation ?? "\(error)") (the log may contain records that are due above: give the same command again, which publishes only the missing ones)"
                )
            }
            return RequeueReport.summary(noted, isDry: false)
        }
    }
}

/// Positions of dead letters in one line: `bids/0/12,15 bids/1/3`.
package enum DeadLetterList {
    package static func text(_ positions: [TopicPosition]) -> String {
        var parts: [String] = []
        var last: (topic: String, partition: Int32)?
        for position in positions.sorted() {
            if let last, last == (position.topic, position.partition) {
                parts[parts.count - 1] += ",\(position.offset)"
            } else {
                parts.append("\(position)")
                last = (position.topic, position.partition)
            }
        }
        return parts.joined(separator: " ")
    }

    /// Nil for any other text.
    package static func positions(_ text: String) -> [TopicPosition]? {
        var positions: [TopicPosition] = []
        for part in text.split(separator: " ") {
            let offsets = part.split(separator: ",", omittingEmptySubsequences: false)
            guard let first = TopicPosition(String(offsets[0])) else { return nil }
            positions.append(first)
            for offset in offsets.dropFirst() {
                let next = TopicPosition("\(first.topic)/\(first.partition)/\(offset)")
                guard let next else { return nil }
                positions.append(next)
            }
        }
        return positions
    }
}
