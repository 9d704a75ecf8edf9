import EventLog
import Program
import Reports
import Streams
import Wording

extension PageWriter {
    // MARK: Postbacks

    mutating func writePostbacks() throws {
        if let status = context.parameters[Self.copies].nonempty {
            // The comparison has no scope.
            guard context.scope.isEmpty else { throw DashboardError.ofEverything }
            return try writeCopies(status)
        }
        writeContents(
            ["By verdict, network and version", "By day", "By country and marketplace"]
                + (context.scope.isEmpty ? [Self.comparedCopies] : []))
        try section("By verdict, network and version") {
            try $0.table(
                ReportAddress(
                    "postbacks", by: ["framework", "version", "ad_network_id", "verdict"]),
                sort: "postbacks")
        }
        try section("By day") { page in
            try page.chart(
                "Postbacks by day, with and without a value", ReportAddress("postbacks"),
                [
                    ("postbacks", "postbacks", "postbacks"),
                    ("null values", "null_values", "null_values"),
                ])
            try page.writeVerdictsByDay()
        }
        try section(
            "By country and marketplace",
            "Only AdAttributionKit names a marketplace. Both frameworks may name a country, which Apple leaves out of many postbacks."
        ) {
            try $0.table(
                ReportAddress("postbacks", by: ["framework", "marketplace", "country"]),
                sort: "postbacks")
        }
        guard context.scope.isEmpty else { return }
        try section(
            Self.comparedCopies,
            "A device sends a copy of a winning postback to the developer of the app, if the app asks for it. So an app that does not ask has no developer copies. May still come is the part of the missing copies that devices can still send: they try for nine days. A postback counts on the day of its first copy."
        ) { try $0.writeReconciliation() }
    }

    /// One row a day: all postbacks, and those of each verdict.
    private mutating func writeVerdictsByDay() throws {
        let measures = ["postbacks", "null_values"]
        let verdicts = try answer(ReportAddress("postbacks", by: ["verdict"])).rows.map {
            $0[0].plainText
        }
        var answers = [try answer(ReportAddress("postbacks", by: ["day"]))]
        for verdict in verdicts {
            var request = ReportAddress("postbacks", by: ["day"])
            request.conditions = [.init(column: "verdict", value: verdict)]
            answers.append(try answer(request))
        }
        for index in answers.indices { answers[index].show(measures) }
        let table = JoinedTable(answers, sort: nil, labels: ["all postbacks"] + verdicts)
        let byVerdict = try limited(
            ReportAddress("postbacks", by: ["day", "verdict"]), to: days)
        guard !table.isEmpty else {
            writeNoRows()
            return files(of: byVerdict)
        }
        write { table.write(named: "Postbacks by day and verdict", to: &$0) }
        writeMoreRows(table.moreRows)
        files(of: byVerdict)
    }

    private static let comparedCopies = "Network copies compared with developer copies"

    /// The parameter that lists the postbacks of one result.
    private static let copies = "copies"
    private static let allCopies = "postbacks"

    /// The comparison of the chosen days and filters, and its command.
    private mutating func reconciliation(
        listing isList: Bool
    ) throws -> (found: Reconciliation, command: String) {
        // The comparison takes the days of a request of postbacks.
        let selection = try context.limited(ReportAddress("postbacks"), to: days)
        let times = try selection.resolved(in: source.timeZone(of: selection))
        var question = ReconciliationQuery()
        question.request.timeZone = times.timeZone
        if !isList { question.request.grouping = .columns(["ad_network_id"]) }
        question.showsRecords = isList
        question.showsMatched = isList
        question.request.sinceMilliseconds = times.sinceMilliseconds
        question.request.untilMilliseconds = times.untilMilliseconds
        for condition in context.chosen {
            guard let applied = context.applied(condition, to: ReconciliationQuery.columnNames)
            else {
                throw DashboardError.unfiltered([condition.column], report: "weir reconcile")
            }
            question.request.conditions.append(applied)
        }
        question.catalog = try source.configuration.catalog()
        question.trustsDevelopment = try source.installation.configuration.trustsDevelopment()
        let found = try source.reconciliation(question)
        var words = ["weir", "reconcile"]
        words += isList ? ["--records", "--all"] : ["--by", "ad_network_id"]
        for condition in question.request.conditions {
            words += ["--where", "\(condition.column)=\(condition.value)"]
        }
        words += selection.since.map { ["--since", $0] } ?? []
        words += selection.until.map { ["--until", $0] } ?? []
        return (found, ShellWords.text(words + source.clockWords))
    }

    private mutating func writeReconciliation() throws {
        let (found, command) = try reconciliation(listing: false)
        writeNotices(found.notices)
        let table = found.table.withTotal("all networks")
        let counts = Set(table.columns.filter(\.isNumber).map(\.name))
        let listed = ReconciliationQuery.statuses + [Self.allCopies]
        let (context, names) = (context, source.names(for: context.scope))
        write {
            ReportView.write(
                table, to: &$0,
                text: { row, column in
                    let (name, value) = (table.columns[column].name, table.rows[row][column])
                    let text = ShownValue.text(value, in: name, isKey: !counts.contains(name))
                    return names.name(text, in: name).map { "\($0) (\(text))" } ?? text
                },
                link: { row, column in
                    let (name, value) = (table.columns[column].name, table.rows[row][column])
                    guard !value.isZero else { return nil }
                    guard listed.contains(name) else { return nil }
                    // The last row is of all networks.
                    let network = row < found.table.rows.count ? table.rows[row][0].plainText : nil
                    return context.address(changing: [
                        "ad_network_id": network ?? context.parameters["ad_network_id"],
                        Self.copies: name,
                    ])
                })
        }
        write { $0.element("pre", text: command) }
    }

    /// The postbacks of a result of the comparison, each with its records.
    private mutating func writeCopies(_ status: String) throws {
        let valid = ReconciliationQuery.statuses + [Self.allCopies]
        guard valid.contains(status) else {
            throw CommandError.usage(
                "unknown \(Self.copies) '\(status)': use one of \(valid.joined(separator: ", "))")
        }
        let heading = ShownValue.sentence(ShownValue.heading(status))
        try section(
            "Network copies compared with developer copies: \(heading)",
            "Click the offsets of a copy to see its record. A postback counts on the day of its first copy."
        ) { page in
            let (found, command) = try page.reconciliation(listing: true)
            let all = found.table
            let rows = all.rows.filter {
                status == Self.allCopies || $0.first?.plainText == status
            }
            let limit = try page.mostCopies()
            let table = ReportTable(columns: all.columns, rows: Array(rows.prefix(limit)))
            page.paragraph("\(counted(rows.count, "postback")) with this result.")
            page.writeTotals(of: ReportTable(columns: all.columns, rows: rows))
            page.writeRest(rows.count - table.rows.count, shown: table.rows.count)
            page.write {
                ReportView.write(
                    table, to: &$0,
                    link: { row, column in
                        guard
                            ["network_offsets", "developer_offsets"].contains(
                                all.columns[column].name)
                        else { return nil }
                        return Self.record(of: table.rows[row], column, table)
                    })
            }
            page.write { $0.element("pre", text: command) }
        }
        let back = context.address(changing: [
            Self.copies: nil, Self.more.name: nil, "ad_network_id": nil,
        ])
        write { html in html.element("p") { $0.link("All of Postbacks", to: back) } }
    }

    /// The parameter that lists more postbacks, and its value.
    private static let more = (name: "rows", value: "all")

    /// The number of listed postbacks.
    private func mostCopies() throws -> Int {
        guard let asked = context.parameters[Self.more.name].nonempty else { return Self.mostRows }
        guard asked == Self.more.value else {
            throw CommandError.usage(
                "unknown \(Self.more.name) '\(asked)': use \(Self.more.value), or leave it out")
        }
        return PageSource.mostRows
    }

    /// The postbacks of each network and their copies on both sides, with the sums.
    private mutating func writeTotals(of list: ReportTable) {
        func index(_ column: String) -> Int? { list.columns.firstIndex { $0.name == column } }
        guard let network = index("ad_network_id"), let ofNetwork = index("network_offsets"),
            let ofDeveloper = index("developer_offsets")
        else { return }
        func copies(_ rows: [[ReportValue]], _ column: Int) -> ReportValue {
            .integer(
                rows.reduce(0) { $0 + Int128($1[column].plainText.split(separator: " ").count) })
        }
        let groups = Dictionary(grouping: list.rows) { $0[network].plainText }
        let counts = ["postbacks", "network_copies", "developer_copies"]
        let totals = ReportTable(
            columns: [.init("ad_network_id")] + counts.map { .init($0, isNumber: true) },
            rows: groups.sorted { $0.key < $1.key }.map { name, rows in
                [
                    .text(name), .integer(Int128(rows.count)), copies(rows, ofNetwork),
                    copies(rows, ofDeveloper),
                ]
            }, keyCount: 1
        ).withTotal("all networks")
        let names = source.names(for: context.scope)
        guard !totals.rows.isEmpty else { return }
        write {
            ReportView.write(
                totals, named: "Copies by network", to: &$0, counts: Set(counts),
                text: { row, column in
                    let (name, value) = (totals.columns[column].name, totals.rows[row][column])
                    let text = ShownValue.text(value, in: name, isKey: column == 0)
                    return names.name(text, in: name).map { "\($0) (\(text))" } ?? text
                })
        }
    }

    /// How to see the postbacks that are not listed.
    private mutating func writeRest(_ rest: Int, shown: Int) {
        guard rest > 0 else { return }
        let context = context
        let most = ShownValue.grouped(Int128(PageSource.mostRows))
        write { html in
            html.element("p", ["class": "note"]) { html in
                html.text(
                    "The first \(ShownValue.grouped(Int128(shown))) are listed, \(ShownValue.grouped(Int128(rest))) more are not. "
                )
                if shown < PageSource.mostRows {
                    html.link(
                        "List up to \(most)",
                        to: context.address(changing: [Self.more.name: Self.more.value]))
                    html.text(". ")
                }
                html.text("The command below lists the postbacks of every result.")
            }
        }
    }

    /// The page of the first copy in a column of offsets.
    private static func record(
        of row: [ReportValue], _ column: Int, _ table: ReportTable
    ) -> PageAddress? {
        let partition = table.columns.firstIndex { $0.name == "partition" }
        guard let partition, let number = Int32(row[partition].plainText),
            let offset = row[column].plainText.split(separator: " ").first.flatMap({ Int64($0) })
        else { return nil }
        return address(
            of: TopicPosition(
                topic: PostbacksFold.streamName, partition: number, offset: offset))
    }

    // MARK: Records

    /// The number of all records of a kind, whatever their topic and reason.
    private mutating func writeTotal(of kind: String) throws {
        let answer = try answer(ReportAddress(kind, measures: ["records"]))
        guard let row = answer.rows.first, let count = answer.only("records"), !count.isZero else {
            return
        }
        write { html in
            html.element("p") { html in
                html.text("Records in total: ")
                NumberLink(answer, row: row).write(count, of: "records", to: &html)
            }
        }
    }

    /// Records that do not count, with the reason.
    mutating func writeRecords() throws {
        try section(
            "Rejected records",
            "Click a record to see its bytes. After a fix, requeue the records of a reason."
        ) { page in
            try page.writeTotal(of: "rejected")
            try page.writeRefusals("rejected")
            try page.writeRequeueButtons("rejected")
        }
        try section(
            "Conflicting copies",
            "Copies of a counted record with other content. Among copies of equal rank, the first counts."
        ) { page in
            try page.writeTotal(of: "conflicts")
            try page.writeRefusals("conflicts")
        }
        try section("Untrusted copies", "Their signature is not valid.") {
            try $0.writeTotal(of: "untrusted")
            try $0.writeRefusals("untrusted")
            try $0.writeRequeueButtons("untrusted")
        }
        try section("Records by outcome", "All records of these days, counted or not.") {
            try $0.table(ReportAddress("outcomes", by: ["topic", "type"]))
        }
    }
}

extension ReportTable {
    /// The table with the sums of its counts as a last row, if it has several rows.
    fileprivate func withTotal(_ name: String) -> ReportTable {
        guard rows.count > 1 else { return self }
        let total = columns.indices.map { column -> ReportValue in
            guard columns[column].isNumber else { return column == 0 ? .text(name) : .null }
            return .integer(
                rows.reduce(0) {
                    if case .integer(let count) = $1[column] { $0 + count } else { $0 }
                })
        }
        return ReportTable(columns: columns, rows: rows + [total], keyCount: keyCount)
    }
}

extension PageWriter {
    private static let mostRowsOfDump = 1000

    /// The page of a dump, with its first selected rows.
    mutating func writeDump(_ name: String) throws {
        let asked = try ReportAddress(name, context.parameters)
        // A page of other rows than the reader may see is no page.
        _ = try context.limited(asked)
        try section("Rows", requireReport(name).pageNote) { page in
            page.noteFilters(of: asked)
            var request = try page.context.request(name)
            (request.since, request.until) = page.days
            if let asOf = request.asOf {
                page.paragraph(
                    "As of \(asOf). A date without a time means midnight UTC.", class: "note")
            }
            if request.has(.groups) { page.writeGroupings(request, request.columns) }
            try page.table(
                page.source.answer(request, keeping: RowBound(Self.mostRowsOfDump)),
                limit: Self.mostRowsOfDump, keepsAsked: true)
        }
    }

    /// The possible grouping columns, each a link that adds or removes it.
    private mutating func writeGroupings(_ request: ReportAddress, _ columns: [String]) {
        write { html in
            html.element("p", ["class": "choices"]) { html in
                html.text("by ")
                for column in columns {
                    var other = request
                    if other.by.contains(column) {
                        other.by.removeAll { $0 == column }
                    } else {
                        other.by = columns.filter { other.by.contains($0) || $0 == column }
                    }
                    html.link(
                        ShownValue.heading(column), to: other.address,
                        class: request.by.contains(column) ? "chosen" : nil)
                }
            }
        }
    }
}
