import ConfigurationValues
import EventLog
import Foundation
import History
import Monitoring
import Program
import Reports
import Store
import Streams
import Tokens
import Wording

/// An action of an operator. GET shows what it would do, and POST does it.
enum OperatorForm: String, CaseIterable {
    case requeue, retry

    var path: String { "/operate/\(rawValue)" }

    /// The parameters of the page that shows what the action would do.
    var parameters: [String] {
        switch self {
        case .requeue: ["record", "topic", "reason", "since", "until"]
        case .retry: ["partner", "id", "dead"]
        }
    }

    /// The most dead letters that one form requeues, so that it fits into `mostFormBytes`.
    static let mostRecords = 500
    /// The most dead letters that are looked at.
    private static let mostSearched = 10_000
    private static let mostShown = 100

    // MARK: Preview

    /// A page with the result of a dry run and the form that confirms it.
    func preview(_ builder: PageBuilder, formToken: String) -> PageBuilder.Made {
        do {
            if let unknown = builder.parameters.names.first(where: { !parameters.contains($0) }) {
                throw CommandError.usage(
                    "unknown parameter '\(unknown)': use one of \(parameters.joined(separator: ", "))"
                )
            }
            return switch self {
            case .requeue: try requeuePreview(builder, formToken)
            case .retry: try retryPreview(builder, formToken)
            }
        } catch {
            return builder.failure(error, formToken)
        }
    }

    private func requeuePreview(
        _ builder: PageBuilder, _ formToken: String
    ) throws -> PageBuilder.Made {
        let installation = builder.source.installation
        let letters = try Self.letters(builder.parameters, installation)
        var requeue = try Self.requeue(installation)
        var strangers: [String] = []
        requeue.onStranger = { letter, stranger in
            strangers.append(
                "\(stranger) claims to be a copy of \(letter.firstPosition), but has other content: Weir ignores it"
            )
        }
        let outcomes = try requeue.plan(letters)
        let due = zip(letters, outcomes).filter { $0.1 == .due }.map(\.0.position)
        let chosen = Array(due.prefix(Self.mostRecords))
        return builder.framed("Requeue dead letters", formToken) { html in
            html.element(
                "p",
                text:
                    "Dry run: \(RequeueReport.summary(outcomes, isDry: true)). Nothing has been published yet."
            )
            for text in strangers { html.element("p", ["class": "warning"], text: text) }
            html.element(
                "p", ["class": "note"],
                text:
                    "First correct the cause. Otherwise Weir rejects the copies again. A copy counts at the time of requeuing."
            )
            if chosen.isEmpty {
                html.element("p", ["class": "empty"], text: "There is nothing to requeue.")
            } else {
                if due.count > chosen.count {
                    html.element(
                        "p",
                        text:
                            "The form requeues the first \(chosen.count). Then open this page again for the next ones, or use the command."
                    )
                }
                confirmation(
                    "Requeue \(chosen.count) now", formToken,
                    [("records", DeadLetterList.text(chosen))], back: "/records", to: &html)
            }
            let shown = letters.prefix(Self.mostShown)
            ReportView.write(
                RequeueReport.table(Array(shown), outcomes), to: &html,
                link: { row, column in
                    column == 0 ? PageWriter.address(of: letters[row].position) : nil
                })
            if letters.count > shown.count {
                html.element(
                    "p", ["class": "note"], text: "The first \(shown.count) records are shown.")
            }
            html.element(
                "pre",
                text: Self.command(builder.parameters, in: (try? builder.source.timeZone) ?? .utc))
        }
    }

    private static func command(
        _ parameters: QueryParameters, in zone: ReportTimeZone
    ) -> String {
        var words = ["weir", "dead-letters", "requeue"]
        if let record = parameters["record"].nonempty { words.append(record) }
        for name in ["topic", "reason"] {
            if let value = parameters[name].nonempty { words += ["--\(name)", value] }
        }
        for name in ["since", "until"] {
            guard let value = parameters[name].nonempty else { continue }
            // Days of this command are in UTC.
            let time = zone.isUTC ? nil : zone.milliseconds(text: value)
            words += ["--\(name)", time.map { UTC.text(milliseconds: $0) } ?? value]
        }
        return ShellWords.text(words + ["--dry-run"])
    }

    private static func letters(
        _ parameters: QueryParameters, _ installation: Installation
    ) throws -> [DeadLetter] {
        let stores = try installation.stores()
        if let text = parameters["record"].nonempty {
            guard let positions = DeadLetterList.positions(text) else {
                throw CommandError.usage("record is not a position such as bids/0/12")
            }
            return try stores.deadLetters(at: positions).map(DeadLetter.init)
        }
        guard let topic = parameters["topic"].nonempty, let reason = parameters["reason"].nonempty
        else { throw CommandError.usage("give topic and reason, or record") }
        guard DeadLetterQuery.validReasons.contains(reason) else {
            throw CommandError.usage("reason '\(reason)' is unknown")
        }
        var days = ReportAddress("rejected")
        days.since = parameters["since"].nonempty
        days.until = parameters["until"].nonempty
        let zone = days.isOfDays ? try installation.configuration.timeZone() : .utc
        let resolved = try days.resolved(in: zone)
        var query = DeadLetterQuery()
        query.topics = [topic]
        query.reasons = [reason]
        query.sinceMilliseconds = resolved.sinceMilliseconds
        query.untilMilliseconds = resolved.untilMilliseconds
        return try stores.deadLetters(query, limit: mostSearched) { DeadLetter($0) }
    }

    private static func requeue(_ installation: Installation) throws -> Requeue {
        Requeue(to: try installation.openLog()) { try installation.stores().deadLetters(at: $0) }
    }

    private func retryPreview(
        _ builder: PageBuilder, _ formToken: String
    ) throws -> PageBuilder.Made {
        let (selection, field) = try Self.selection(builder.parameters)
        let retry = try Self.retry(selection, builder.source.installation)
        try retry.check()
        let deliveries = try retry.deliveries(limit: Self.mostShown)
        let stores = try builder.source.installation.deliveryStores()
        let names = Set(deliveries.map(\.partner)).union(selection.partner.map { [$0] } ?? [])
        let rests = try PartnerStanding.rests(stores).filter { names.contains($0.name) }
        let disabled = try stores.flatMap { try $0.disabledPartners() }
            .filter { names.contains($0.name) }
        return builder.framed("Retry deliveries", formToken) { html in
            html.element("p", text: selection.effect)
            if selection != .allDead {
                for rest in rests { html.element("p", text: "\(rest.words) The retry ends it.") }
            }
            for partner in disabled {
                let ending =
                    selection.partner == nil
                    ? "The retry does not enable it." : "The retry enables it again."
                html.element("p", text: "\(partner.name) \(partner.explanation). \(ending)")
            }
            confirmation(
                selection.button, formToken, [field], back: "/partners", to: &html)
            html.element("h2", text: "Deliveries")
            PageWriter.write(deliveries, to: &html)
            html.element("pre", text: ShellWords.text(selection.command))
        }
    }

    private static func selection(
        _ parameters: QueryParameters
    ) throws -> (DeliverySelection, (name: String, value: String)) {
        let given = ["partner", "id", "dead"].compactMap { name in
            parameters[name].nonempty.map { (name: name, value: $0) }
        }
        guard given.count == 1, let field = given.first else {
            throw CommandError.usage("give one of partner, id and dead")
        }
        let selection: DeliverySelection =
            switch field.name {
            case "partner": .partner(field.value)
            case "id": .id(field.value)
            default: .allDead
            }
        return (selection, field)
    }

    private static func retry(
        _ selection: DeliverySelection, _ installation: Installation
    ) throws -> DeliveryRetry {
        DeliveryRetry(
            selection, in: try installation.deliveryStores(), of: installation.directories,
            installation.pipelines)
    }

    /// The form that does it. Its id makes a second submission of the same form do nothing.
    private func confirmation(
        _ button: String, _ formToken: String, _ fields: [(name: String, value: String)],
        back: String, to html: inout HTML
    ) {
        html.element("form", ["action": path, "method": "post", "class": "confirm"]) { html in
            let hidden = [("form", formToken), ("action", SecretText.random())] + fields
            for (name, value) in hidden {
                html.element("input", ["type": "hidden", "name": name, "value": value])
            }
            html.element("button", ["type": "submit", "class": "act"], text: button)
            html.text(" ")
            html.element("a", ["href": back], text: "Cancel")
        }
    }

    // MARK: Action

    /// Whether a text has the form of `SecretText.random`.
    static func isActionID(_ text: String) -> Bool {
        text.wholeMatch(of: /[A-Za-z0-9_\-]{43}/) != nil
    }

    /// Does what the operator confirmed, unless an action with this id has begun.
    func act(
        _ form: QueryParameters, id: String, by user: Operator, _ installation: Installation
    ) throws {
        switch self {
        case .requeue:
            guard let positions = form["records"].flatMap(DeadLetterList.positions),
                (1...Self.mostRecords).contains(positions.count)
            else { throw CommandError.usage("records of the form is not a list of dead letters") }
            let locks = try RequeueRun.lock(installation.directories)
            defer { withExtendedLifetime(locks) {} }
            let letters = try installation.stores().deadLetters(at: positions)
                .map(DeadLetter.init)
            guard letters.count == positions.count else {
                throw CommandError.failure(
                    "the stores no longer contain all of these dead letters: look at them again")
            }
            let requeue = try Self.requeue(installation)
            var outcomes = try requeue.plan(letters)
            try RequeueRun(requeue, in: installation.directories)
                .publish(letters, &outcomes, by: user, id: id)
        case .retry:
            let retry = try Self.retry(Self.selection(form).0, installation)
            try retry.check()
            _ = try retry.run(by: user, id: id)
        }
    }
}

extension DeliverySelection {
    fileprivate var partner: String? {
        if case .partner(let name) = self { name } else { nil }
    }

    fileprivate var effect: String {
        switch self {
        case .id:
            "The open revisions of this document become due now, from the start of the schedule."
        case .partner(let name):
            "All pending, dead and held deliveries for \(name) become due now, from the start of the schedule."
        case .allDead:
            "All dead deliveries of all enabled partners become due now, from the start of the schedule."
        }
    }

    fileprivate var button: String {
        switch self {
        case .id: "Retry this document now"
        case .partner(let name): "Retry for \(name) now"
        case .allDead: "Retry all dead deliveries now"
        }
    }

    fileprivate var command: [String] {
        let words = ["weir", "deliveries", "retry"]
        return switch self {
        case .id(let id): words + [id]
        case .partner(let name): words + ["--partner", name]
        case .allDead: words + ["--all-dead"]
        }
    }
}
