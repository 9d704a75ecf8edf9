import Reports

/// A report that does not link its numbers to explanations.
enum ReportView {
    /// - Parameters:
    ///   - counts: columns of counts, which have thousands separators. Other numbers are names, such as offsets.
    ///   - text: the text of a cell, by row and column; nil to show the value as a name.
    ///   - items: lines of a cell that a click on its text shows.
    ///   - link: the target of a cell's link.
    static func write(
        _ table: ReportTable, named title: String = "", to html: inout HTML,
        counts: Set<String> = [],
        text: ((_ row: Int, _ column: Int) -> String)? = nil,
        items: (_ row: Int, _ column: Int) -> [String] = { _, _ in [] },
        link: (_ row: Int, _ column: Int) -> PageAddress? = { _, _ in nil }
    ) {
        guard !table.rows.isEmpty else {
            return html.element("p", ["class": "empty"], text: "None.")
        }
        html.table(named: title) { html in
            html.element("thead") { html in
                html.element("tr") { html in
                    for column in table.columns {
                        html.element(
                            "th",
                            [
                                "scope": "col", "class": column.isNumber ? "number" : nil,
                                "title": ShownValue.note(column.name),
                            ], text: ShownValue.heading(column.name))
                    }
                }
            }
            html.element("tbody") { html in
                for row in table.rows.indices {
                    html.element("tr") { html in
                        for column in table.columns.indices {
                            cell(row, column, of: table, counts, text, items, link, to: &html)
                        }
                    }
                }
            }
        }
    }

    private static let longestWord = 40

    private static func cell(
        _ row: Int, _ column: Int, of table: ReportTable, _ counts: Set<String>,
        _ text: ((Int, Int) -> String)?, _ items: (Int, Int) -> [String],
        _ link: (Int, Int) -> PageAddress?, to html: inout HTML
    ) {
        let written =
            text?(row, column)
            ?? ShownValue.text(
                table.rows[row][column], in: table.columns[column].name,
                isKey: !counts.contains(table.columns[column].name))
        let plain = ShownValue.name(written, in: table.columns[column].name)
        let shown = plain ?? written
        // Instants and ids are not broken into lines.
        let isWord = !shown.contains(" ") && shown.utf8.count <= longestWord
        let name = table.columns[column].isNumber ? "number" : isWord ? "word" : "text"
        html.element("td", ["class": name, "title": plain == nil ? nil : written]) { html in
            let items = items(row, column)
            if let target = link(row, column) {
                html.link(shown, to: target)
            } else if !items.isEmpty {
                html.element("details") { html in
                    html.element("summary", text: shown)
                    html.element("ul", ["class": "list"]) { html in
                        for item in items { html.element("li", text: item) }
                    }
                }
            } else {
                html.text(shown)
            }
        }
    }
}
