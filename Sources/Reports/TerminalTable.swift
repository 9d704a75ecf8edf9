// Tables on a terminal, fitted to its width without dropping columns.

extension TextTable {
    /// The lines for a terminal of this width; nil for any width.
    ///
    /// A table that is too wide uses the first of these layouts that fits. Nothing is left out.
    /// 1. Columns with one value in all rows move to a line above the table, and headers break at their underscores.
    /// 2. Long identifiers are shortened in the middle, as long as they stay distinct.
    /// 3. The measures form several blocks, each with the key columns.
    /// 4. Every row becomes lines of a name and a value, without zero counts and empty values; a line above states
    /// this.
    package func lines(within width: Int?) -> [String] {
        guard let width, !fits(width), rows.count > 1 else { return lines }
        guard rows.count > 2 else { return vertical }
        let (captions, varying) = movingConstants(to: width)
        let layout = varying.breakingHeaders()
        let shortened = layout.shortened(toFit: width, indices: Array(layout.isNumber.indices))
        if shortened.fits(width) { return captions + shortened.lines }
        if let blocks = layout.blocks(within: width) { return captions + blocks }
        return captions + ["one line per value, without zero counts and empty values", ""]
            + varying.vertical(withoutZeros: true)
    }

    /// Every row as lines of a name and a value.
    package var vertical: [String] { vertical(withoutZeros: false) }

    private func vertical(withoutZeros: Bool) -> [String] {
        rows.dropFirst().enumerated().flatMap { index, row in
            let values = zip(names, row).enumerated().filter { column, value in
                !(withoutZeros && (value.1.isEmpty || column >= keyCount && value.1.isZeroCell))
            }
            let lines = TextTable(
                cells: [["row", "\(index + 1)"]] + values.map { [$1.0, $1.1] },
                isNumber: [false, false]
            ).lines
            return index == 0 ? lines : [""] + lines
        }
    }

    private func fits(_ width: Int) -> Bool { lineWidth(Array(widths.indices)) <= width }

    private func lineWidth(_ indices: [Int]) -> Int {
        indices.reduce(0) { $0 + widths[$1] } + max(0, indices.count - 1) * Self.gap
    }

    /// Moves values common to all rows to lines above the table.
    private func movingConstants(to width: Int) -> (captions: [String], rest: TextTable) {
        let data = rows.dropFirst()
        let constants = widths.indices.filter { index in
            (index < keyCount || !isNumber[index])
                && data.allSatisfy { $0[index] == data.first?[index] }
        }
        guard constants.count < widths.count else { return ([], self) }
        let facts = constants.compactMap { index in
            data.first.flatMap { $0[index].isEmpty ? nil : "\(names[index]): \($0[index])" }
        }
        var captions: [String] = []
        for fact in facts {
            if let last = captions.last, last.count + fact.count + 2 <= width {
                captions[captions.count - 1] = "\(last), \(fact)"
            } else {
                captions.append(fact)
            }
        }
        let rest = widths.indices.filter { !constants.contains($0) }
        return (captions.isEmpty ? [] : captions + [""], limited(to: rest))
    }

    private func limited(to indices: [Int]) -> TextTable {
        let cells = rows.map { row in indices.map { row[$0] } }
        // The remaining names may need fewer lines.
        let empty = cells.prefix(headerLines - 1).prefix { $0.allSatisfy(\.isEmpty) }.count
        return TextTable(
            cells: Array(cells.dropFirst(empty)), isNumber: indices.map { isNumber[$0] },
            keyCount: indices.count { $0 < keyCount }, headerLines: headerLines - empty)
    }

    /// The table with a multi-line header, each name broken so that its column is as narrow as its values allow.
    private func breakingHeaders() -> TextTable {
        let data = rows.dropFirst()
        let headers = names.indices.map { index in
            let pieces = names[index].split(separator: "_", omittingEmptySubsequences: false)
            let parts = pieces.enumerated().map { $0 + 1 < pieces.count ? "\($1)_" : String($1) }
            let longest = parts.map(\.count).max() ?? 0
            let target = data.reduce(longest) { max($0, $1[index].unicodeScalars.count) }
            return parts.reduce(into: [String]()) { lines, part in
                if let last = lines.last, last.count + part.count <= target {
                    lines[lines.count - 1] = last + part
                } else {
                    lines.append(part)
                }
            }
        }
        let height = headers.map(\.count).max() ?? 1
        let above = (0..<height).map { line in
            headers.map { header in
                // Names are directly above their values.
                let index = line - (height - header.count)
                return index < 0 ? "" : header[index]
            }
        }
        return TextTable(
            cells: above + data, isNumber: isNumber, keyCount: keyCount, headerLines: height)
    }

    /// The minimum length of a shortened text, in characters.
    private static let shortestText = 12

    /// The table with the texts of these columns shortened to fit this total width, as far as possible.
    private func shortened(toFit width: Int, indices: [Int]) -> TextTable {
        var table = self
        let data = Array(rows.dropFirst(headerLines))
        let shortest = indices.reduce(into: [Int: Int]()) { shortest, index in
            shortest[index] = Self.shortestLength(of: data.map { $0[index] })
        }
        while table.lineWidth(indices) > width {
            let candidates = indices.filter { index in
                shortest[index].map { $0 < table.widths[index] } ?? false
            }
            guard let widest = candidates.max(by: { table.widths[$0] < table.widths[$1] }),
                let least = shortest[widest]
            else { break }
            let excess = table.lineWidth(indices) - width
            // Shorten the widest only to the next widest, which then shares the reduction.
            let next = candidates.filter { $0 != widest }.map { table.widths[$0] }.max() ?? 0
            let length = max(
                least, table.widths[widest] - excess, min(next, table.widths[widest] - 1))
            var cells = table.rows
            for row in cells.indices.dropFirst(headerLines) {
                cells[row][widest] = Self.shortened(data[row - headerLines][widest], to: length)
            }
            let before = table.widths[widest]
            table = TextTable(
                cells: cells, isNumber: isNumber, keyCount: keyCount, headerLines: headerLines)
            guard table.widths[widest] < before else { break }
        }
        return table
    }

    /// The minimum length at which the texts of a column stay distinct; nil for columns that are not shortened:
    /// numbers, times and sentences.
    private static func shortestLength(of texts: [String]) -> Int? {
        let different = Set(texts)
        let longest = different.map(\.count).max() ?? 0
        let isKept = different.contains { text in
            text.contains(" ") || text.prefixMatch(of: /\d{4}-\d\d-\d\d/) != nil
        }
        guard longest > shortestText, !isKept else { return nil }
        return (shortestText..<longest).first { length in
            Set(different.map { shortened($0, to: length) }).count == different.count
        }
    }

    private static func shortened(_ text: String, to length: Int) -> String {
        guard text.count > length else { return text }
        return "\(text.prefix(length / 2))…\(text.suffix(length - length / 2 - 1))"
    }

    /// Tables with the same keys and a part of the measures each; nil if a single measure next to the keys is too wide.
    private func blocks(within width: Int) -> [String]? {
        let keys = Array(0..<keyCount)
        guard !keys.isEmpty, keyCount < widths.count else { return nil }
        let table = shortened(toFit: width / 2, indices: keys)
        var blocks: [[Int]] = []
        for index in keyCount..<widths.count {
            if let last = blocks.last, table.lineWidth(last + [index]) <= width {
                blocks[blocks.count - 1].append(index)
            } else {
                guard table.lineWidth(keys + [index]) <= width else { return nil }
                blocks.append(keys + [index])
            }
        }
        return Array(blocks.map { table.limited(to: $0).lines }.joined(separator: [""]))
    }
}

extension MoneyByCurrency {
    private static let ofThousand = Set(
        DumpDescription.all.flatMap { dump in
            dump.measures.filter { dump.note(ofMeasure: $0).unit == .cpmMicros }
        })

    /// Whether a measure is a sum of CPM prices, a thousand times the paid amount.
    package static func isOfThousand(_ measure: String) -> Bool { ofThousand.contains(measure) }

    /// A sum of a measure of money, such as `cost_micros` or `cost_micros USD`; nil for another measure.
    package init?(_ micros: Int128, of measure: String, currency: String? = nil) {
        let parts = measure.split(separator: " ", maxSplits: 1).map(String.init)
        guard let name = parts.first, Self.isMoney(name) else { return nil }
        let currency = parts.count > 1 ? parts[1] : currency ?? ""
        self.init([.text(currency): micros], isOfThousand: Self.isOfThousand(name))
    }
}

extension String {
    /// Whether a cell of a measure is a count of zero. An amount or a rate of zero carries information, such as a lower
    /// bound.
    fileprivate var isZeroCell: Bool { self == "0" }
}

extension ReportTable {
    /// The table without measures that are zero or empty in every row, and without rows in which all measures are. A
    /// table of such rows only is kept, and so is maturity: 0 means that rows are not final.
    ///
    /// - Parameters:
    ///   - keepsMeasures: whether measures were requested by name and stay.
    ///   - limit: the maximum number of remaining rows; nil for all.
    /// - Returns: the table, the removed measures, and the number of removed rows, without those beyond the limit.
    package func withoutZeros(
        keepsMeasures: Bool, limit: Int? = nil
    ) -> (table: ReportTable, measures: [String], rowCount: Int) {
        let measures = Array(columns.indices.dropFirst(keyCount))
        let most = limit ?? .max
        func limited(_ rows: [[ReportValue]]) -> ReportTable {
            ReportTable(columns: columns, rows: Array(rows.prefix(most)), keyCount: keyCount)
        }
        guard keyCount > 0 else { return (limited(rows), [], 0) }
        let others = rows.filter { row in measures.contains { !row[$0].isZero } }
        guard !others.isEmpty else { return (limited(rows), [], 0) }
        let rows = Array(others.prefix(most))
        let zeros =
            keepsMeasures
            ? []
            : measures.filter { index in
                columns[index].name != "maturity" && rows.allSatisfy { $0[index].isZero }
            }
        let table = ReportTable(columns: columns, rows: rows, keyCount: keyCount)
            .limited(toIndices: columns.indices.filter { !zeros.contains($0) })
        return (table, zeros.map { columns[$0].name }, self.rows.count - others.count)
    }

    /// The lines for a terminal of this width, with amounts in units; nil for any width and unconverted numbers.
    package func lines(within width: Int?) -> [String] {
        guard !rows.isEmpty else { return ["no rows"] }
        return (width == nil ? self : withAmountsInUnits).text.lines(within: width)
    }

    /// The table with integer money measures as amounts: in columns named after a measure, and in rows that name a
    /// measure in the column `measure`, in the columns after it. The currency is in the row's column `currency`, or in
    /// the column's name after a space.
    private var withAmountsInUnits: ReportTable {
        let measure = columns.firstIndex { $0.name == "measure" }
        let currency = columns.firstIndex { $0.name == Dump.currency }
        let rows = rows.map { row in
            let ofRow = measure.map { row[$0].plainText }
            return columns.indices.map { index -> ReportValue in
                guard case .integer(let integer) = row[index],
                    measure.map({ index > $0 && columns[index].name != "rows" }) ?? true
                else { return row[index] }
                let name = ofRow ?? columns[index].name
                return MoneyByCurrency(
                    integer, of: name, currency: currency.map { row[$0].plainText }
                ).map { .money($0) } ?? row[index]
            }
        }
        return ReportTable(columns: columns, rows: rows, keyCount: keyCount)
    }

    /// Every row as lines of a name and a value, for people.
    package var verticalLines: [String] { rows.isEmpty ? ["no rows"] : text.vertical }

    private var text: TextTable {
        TextTable(
            header: columns.map(\.name), isNumber: columns.map(\.isNumber),
            rows: rows.map { $0.map(\.plainText) }, keyCount: keyCount)
    }
}
