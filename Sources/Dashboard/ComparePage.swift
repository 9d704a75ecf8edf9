import Monitoring
import Program
import Reports

/// A campaign that is compared with others, as the value of a checkbox.
struct CampaignPick: Equatable {
    static let path = "/compare"
    /// Each checkbox has its own name: an address has each name once.
    static let prefix = "pick"
    private static let most = 8

    /// The values of `Funnel.campaignColumns`.
    let key: [String]

    init(_ key: [String]) { self.key = key }

    /// Nil for a text that does not name a campaign.
    init?(_ text: String) {
        // Networks and apps contain no space. Ids of campaigns might.
        let parts = text.split(
            separator: " ", maxSplits: Funnel.campaignColumns.count - 1,
            omittingEmptySubsequences: false)
        guard parts.count == Funnel.campaignColumns.count else { return nil }
        key = parts.map(String.init)
    }

    var text: String { key.joined(separator: " ") }

    static func isParameter(_ name: String) -> Bool {
        name.hasPrefix(prefix) && Int(name.dropFirst(prefix.count)) != nil
    }

    /// The picked campaigns of an address.
    static func all(of parameters: QueryParameters) throws -> [CampaignPick] {
        let names = parameters.names.filter(isParameter)
        let picks = try names.map { name in
            guard let pick = CampaignPick(parameters[name] ?? "") else {
                throw CommandError.usage(
                    "\(name) does not name a campaign: check campaigns on the page Campaigns")
            }
            return pick
        }
        guard picks.count <= most else {
            throw CommandError.usage(
                "\(picks.count) campaigns are too many to compare: check at most \(most)")
        }
        return picks
    }
}

extension PageWriter {
    /// The picked campaigns side by side, with the measures of the page Campaigns.
    mutating func writeComparison() throws {
        writeHeading("Compare campaigns", showsDays: true)
        let picks = try CampaignPick.all(of: context.parameters)
        guard picks.count > 1 else {
            let address = context.address(DashboardPage.campaigns.path)
            return write { html in
                html.element("p", ["class": "empty"]) { html in
                    html.text("Check two or more campaigns on the page ")
                    html.link("Campaigns", to: address)
                    html.text(".")
                }
            }
        }
        try section(
            "Side by side", "Click a number to see its records, or a name to open the campaign."
        ) { page in
            var answers = try page.campaignAnswers()
            let all = answers.now
            answers.now.keepRows { picks.contains(CampaignPick(CampaignTable.key(all, $0))) }
            guard !answers.now.rows.isEmpty else { return page.writeNoRows() }
            let table = try CampaignTable(
                page.context, page.source.names(for: page.context.scope), answers, isCompared: true,
                link: page.campaignLink)
            page.write { table.writeSideBySide(to: &$0) }
            if let compared = page.context.compared(default: page.period) {
                page.paragraph(compared.sentence, class: "note")
                page.writeMissingHours(
                    compared, of: ["installs", "cost_micros"].map { (answers.now.request, $0) })
            }
            page.files(of: answers.now)
        }
    }
}

// The checkboxes of the table, and the table on its side.
extension CampaignTable {
    var canCompare: Bool { !isShort && rows.count > 1 }

    /// The form of the checkboxes in the rows.
    func comparison(to html: inout HTML) {
        let path = CampaignPick.path
        html.element("form", ["id": "compare", "action": path, "method": "get"]) { html in
            for (name, value) in context.carried {
                html.element("input", ["type": "hidden", "name": name, "value": value])
            }
            html.element("button", ["type": "submit"], text: "Compare checked campaigns")
        }
    }

    func pick(
        _ row: [ReportValue], _ number: Int, _ key: [ReportRequest.Condition],
        to html: inout HTML
    ) {
        let pick = CampaignPick(Self.key(answers.now, row))
        let id = key.first { $0.column == "campaign" }?.value ?? ""
        let name = names.name(id, in: "campaign") { column in
            key.first { $0.column == column }?.value
        }
        html.element("label") { html in
            html.element(
                "input",
                [
                    "type": "checkbox", "form": "compare",
                    "name": "\(CampaignPick.prefix)\(number)",
                    "value": pick.text, "aria-label": "Compare \(name ?? id)",
                ])
        }
        html.text(" ")
    }

    /// A column for each campaign, and a row for each measure.
    func writeSideBySide(to html: inout HTML) {
        html.table(named: "Campaigns side by side", class: "campaigns") { html in
            html.element("thead") { html in
                html.element("tr") { html in
                    html.element("th", ["scope": "col"], text: "Measure")
                    for row in rows {
                        let key = answers.now.key(of: row)
                        html.element("th", ["scope": "col"]) { html in
                            html.campaign(key, names, link: link(key))
                        }
                    }
                }
            }
            html.element("tbody") { html in
                for column in columns {
                    html.element("tr") { html in
                        html.element("th", ["scope": "row"]) { html in
                            html.text(column.title)
                            if !column.note.isEmpty { html.element("small", text: column.note) }
                        }
                        for row in rows {
                            cell(column, row, answers.now.key(of: row), to: &html)
                        }
                    }
                }
            }
        }
    }
}
