import Streams

/// The result of a reconciliation with the App Store's history of notifications.
package struct ReconciledNotifications: Sendable {
    package static let dayMilliseconds: Int64 = 86_400_000

    package enum Status: String, Sendable {
        /// The log has every notification that Apple lists.
        case complete
        /// After the run, some are missing or refused.
        case incomplete
        /// The period covers only a part of the day.
        case partial
        /// Apple was asked for failed notifications only, so the others are not compared.
        case unjudged
    }

    /// A day of UTC, by the time of signing.
    package struct Day: Sendable {
        /// As `2026-11-29`.
        package let name: String
        package fileprivate(set) var listed = 0
        package fileprivate(set) var present = 0
        /// Those that the log lacked and the run appended.
        package fileprivate(set) var appended = 0
        /// Those that the log lacks after the run.
        package fileprivate(set) var missing = 0
        /// Those that it lacks too, and that must not be appended.
        package fileprivate(set) var refused = 0
        package fileprivate(set) var surplus = 0
        fileprivate var judgement = Status.complete

        package var status: Status {
            missing > 0 || refused > 0 ? .incomplete : judgement
        }
    }

    package struct Missing: Sendable {
        package let uuid: String
        /// Since 1970.
        package let signedAtMilliseconds: Int64
    }

    /// A listed notification that must not be appended.
    package struct Refused: Sendable {
        /// Nil if it cannot be read.
        package let uuid: String?
        package let signedAtMilliseconds: Int64?
        package let reason: String
    }

    /// A notification of the log that Apple does not list.
    package struct Surplus: Sendable {
        package let uuid: String
        package let signedAtMilliseconds: Int64
        package let partition: Int32
        package let offset: Int64
        /// Why its signatures do not verify; nil if they do.
        package let distrust: String?
    }

    package let question: NotificationReconciliation.Question
    /// All days of the period, in order.
    package private(set) var days: [Day]
    /// Those that the log lacks after the run.
    package private(set) var missing: [Missing] = []
    /// Those that it lacked before the run.
    package private(set) var appended: [Missing] = []
    package private(set) var refused: [Refused] = []
    package private(set) var surplus: [Surplus] = []
    package internal(set) var notices: [String] = []
    private let firstDay: Int64

    init(_ question: NotificationReconciliation.Question) {
        self.question = question
        let (period, length) = (question.scope.period, Self.dayMilliseconds)
        firstDay = period.lowerBound / length
        days = []
        for number in firstDay...max(firstDay, (period.upperBound - 1) / length) {
            var day = Day(name: String(UTC.text(milliseconds: number * length).prefix(10)))
            let isWhole =
                number * length >= period.lowerBound && (number + 1) * length <= period.upperBound
            day.judgement =
                question.onlyFailures ? .unjudged : isWhole ? .complete : .partial
            days.append(day)
        }
    }

    /// Whether notifications are missing or refused after the run.
    package var isLacking: Bool { !missing.isEmpty || !refused.isEmpty }

    mutating func add(listed found: IdentifiedNotification) {
        change(found.signedAtMilliseconds) { $0.listed += 1 }
    }

    mutating func add(present found: IdentifiedNotification) {
        change(found.signedAtMilliseconds) { $0.present += 1 }
    }

    mutating func add(missing found: IdentifiedNotification) {
        missing.append(
            Missing(uuid: found.uuid, signedAtMilliseconds: found.signedAtMilliseconds))
        change(found.signedAtMilliseconds) { $0.missing += 1 }
    }

    /// All missing ones were appended.
    mutating func noteAppended() {
        for found in missing {
            change(found.signedAtMilliseconds) { day in
                day.missing -= 1
                day.appended += 1
            }
        }
        appended += missing
        missing = []
    }

    /// - Parameter day: an instant of the day in milliseconds since 1970.
    mutating func add(refused found: IdentifiedNotification?, day: Int64, _ reason: String) {
        refused.append(
            Refused(
                uuid: found?.uuid, signedAtMilliseconds: found?.signedAtMilliseconds,
                reason: reason))
        change(day) { $0.refused += 1 }
    }

    mutating func add(surplus found: Surplus) {
        surplus.append(found)
        change(found.signedAtMilliseconds) { $0.surplus += 1 }
    }

    private mutating func change(_ milliseconds: Int64, _ body: (inout Day) -> Void) {
        let index = Int(milliseconds / Self.dayMilliseconds - firstDay)
        body(&days[min(max(index, 0), days.count - 1)])
    }
}
