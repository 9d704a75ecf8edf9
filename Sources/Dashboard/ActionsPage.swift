import History
import Program
import Reports
import Store
import Streams

// What operators did.

extension PageWriter {
    private static let mostActions = 100
    private static let mostSubject = 80

    /// One action, or the newest ones.
    mutating func writeActions() throws {
        let log = OperatorLog(directories: source.installation.directories)
        let (entries, damaged) = try log.entries()
        if damaged > 0 {
            paragraph(
                "\(OperatorLog.fileName) has \(damaged) unreadable lines, for example after a power failure.",
                class: "warning")
        }
        if let id = context.parameters["id"].nonempty {
            guard let entry = entries.first(where: { $0.id == id }) else {
                throw DashboardError.notFound("/actions of \(id)")
            }
            return try section("\(entry.kind.rawValue.capitalized) by \(entry.by.name)") {
                $0.write(entry)
            }
        }
        try section("Replays and upgrades") { $0.writePromotions() }
        write { $0.element("h2", text: "Actions of operators") }
        paragraph(
            "Requeued dead letters, retried deliveries, ended pauses and erasures, by commands and on pages. Each action names who did it. Lines are only appended.",
            class: "note")
        let newest = Array(entries.prefix(Self.mostActions))
        let columns: [ReportColumn<OperatorLog.Entry>] = [
            .text("time") { UTC.text(milliseconds: $0.begunMilliseconds) },
            .text("by") { $0.by.name }, .text("action") { $0.kind.rawValue },
            .text("subject") { entry in
                let isLong = entry.subject.count > Self.mostSubject
                return entry.subject.prefix(Self.mostSubject) + (isLong ? "…" : "")
            },
            .text("result") { $0.end?.result ?? "no end yet" },
        ]
        write { html in
            guard !newest.isEmpty else {
                return html.element("p", ["class": "empty"], text: "No actions yet.")
            }
            ReportView.write(
                ReportTable(newest, columns), named: "Actions", to: &html,
                link: { row, column in
                    column == 0 ? PageAddress("/actions", [("id", newest[row].id)]) : nil
                })
            html.element("pre", text: "weir actions")
        }
    }

    /// When replayed or upgraded stores took effect. The journal names no person.
    private mutating func writePromotions() {
        var rows: [(directory: String, promotion: StorePromotion)] = []
        for directory in source.installation.directories {
            do {
                rows += try PromotionJournal(directory: directory).promotions.map {
                    (directory, $0)
                }
            } catch {
                paragraph("\(error)", class: "warning")
            }
        }
        rows.sort { $0.promotion.atMilliseconds > $1.promotion.atMilliseconds }
        guard !rows.isEmpty else {
            return paragraph("No replay or upgrade took effect.", class: "empty")
        }
        let columns: [ReportColumn<(directory: String, promotion: StorePromotion)>] = [
            .text("time") { UTC.text(milliseconds: $0.promotion.atMilliseconds) },
            .text("action") { row in
                guard row.promotion.kind == .promote else { return "rolled back" }
                return row.promotion.isUpgrade ? "upgrade took effect" : "replay took effect"
            },
            .text("streams") { $0.promotion.streams.keys.sorted().joined(separator: ", ") },
            .text("data") { $0.directory },
        ]
        let newest = Array(rows.prefix(Self.mostActions))
        write { html in
            ReportView.write(
                ReportTable(newest, columns), named: "Replays and upgrades", to: &html)
        }
        paragraph(
            "The journal of stores does not name the person. Changes of a report since a day list which numbers changed: open a number and choose the day under Next steps.",
            class: "note")
    }

    private mutating func write(_ entry: OperatorLog.Entry) {
        let token = entry.by.token.isEmpty ? "" : " (token \(entry.by.token))"
        let end = entry.end
        let result =
            end.map { $0.isDone ? $0.result : "Failed: \($0.result)" }
            ?? "Not finished. It is still running, or its process was stopped. Repeating a requeue publishes only the missing records."
        let lines = [
            ("By", entry.by.name + token),
            ("Begun", UTC.text(milliseconds: entry.begunMilliseconds)),
            ("Ended", end.map { UTC.text(milliseconds: $0.milliseconds) } ?? "–"),
            ("Subject", entry.subject), ("Result", result),
        ]
        write { html in
            html.element("dl") { html in
                for (name, text) in lines {
                    html.element("dt", text: name)
                    html.element("dd", text: text)
                }
            }
            html.element("p") { $0.link("All actions", to: PageAddress("/actions")) }
        }
    }

    /// A button to the page that shows what an action would do.
    mutating func button(
        _ text: String, _ form: OperatorForm, _ fields: [(name: String, value: String)]
    ) {
        write { html in
            html.element("form", ["action": form.path, "method": "get", "class": "action"]) {
                html in
                for (name, value) in fields {
                    html.element("input", ["type": "hidden", "name": name, "value": value])
                }
                html.element("button", ["type": "submit"], text: text)
            }
        }
    }

    /// Buttons that requeue the rejected records of these days, by topic and reason.
    mutating func writeRequeueButtons(_ kind: String) throws {
        let groups = try answer(ReportAddress(kind, by: ["topic", "reason"])).rows
        let days = [("since", days.since), ("until", days.until)].compactMap { name, day in
            day.map { (name: name, value: $0) }
        }
        for group in groups.prefix(Self.mostButtons) {
            let (topic, reason) = (group[0].plainText, group[1].plainText)
            button(
                "Requeue \(topic): \(reason)…", .requeue,
                [("topic", topic), ("reason", reason)] + days)
        }
    }

    private static let mostButtons = 12
}
