import Foundation
import Reports
import Streams

/// A figure on a page: a value or an interval, its change, and its days as a small line.
struct Card {
    let title: String
    let low: String
    /// Equal to `low` for a single value.
    let high: String
    var tone = Tone.neutral
    /// The measures that add up to it or that it is computed from, with their names.
    var parts: [(title: String, measure: String)] = []
    /// The counts of its interval; nil for a card without one.
    var share: ShareParts?

    /// Whether an increase is good.
    enum Tone {
        case neutral, good, bad
    }

    init(
        _ title: String, _ measure: String, _ tone: Tone = .neutral,
        parts: [(title: String, measure: String)] = [], share: ShareParts? = nil
    ) {
        self.init(title, measure, measure, tone)
        self.parts = parts
        self.share = share
    }

    init(_ title: String, _ low: String, _ high: String, _ tone: Tone = .neutral) {
        self.title = title
        self.low = low
        self.high = high
        self.tone = tone
    }

    var measures: [String] { (low == high ? [low] : [low, high]) + parts.map(\.measure) }

    func named(_ title: String) -> Card {
        var card = Card(title, low, high, tone)
        (card.parts, card.share) = (parts, share)
        return card
    }
}

/// A change from one value to another.
struct Change {
    let text: String
    /// 1 for an increase, -1 for a decrease, 0 for neither.
    let direction: Int
    /// False for ranges that overlap.
    private(set) var isCertain = true

    /// Nil if one of the values is unknown, or a percentage of 0 would be needed.
    init?(from before: ReportValue?, to now: ReportValue?, of measure: String) {
        guard let before, let now, before.currency == now.currency else { return nil }
        self.init(
            from: ShownValue.amount(before, in: measure), to: ShownValue.amount(now, in: measure),
            isShare: ShownValue.isShare(measure))
    }

    init?(from old: Double?, to new: Double?, isShare: Bool = false) {
        guard let old, let new, isShare || old > 0 else { return nil }
        let percent = isShare ? (new - old) * 100 : (new - old) / old * 100
        let size = percent.magnitude
        let digits = size >= 99.95 ? 0 : 1
        let number = String(format: "%.\(digits)f", size)
        direction = Double(number) == 0 ? 0 : percent > 0 ? 1 : -1
        let sign = direction == 0 ? "±" : percent > 0 ? "+" : "−"
        text = "\(sign)\(number)\(isShare ? " points" : " %")"
    }

    /// `▲`, `▼`, or nothing.
    var symbol: String { direction == 0 ? "" : direction > 0 ? "▲ " : "▼ " }

    func style(_ tone: Card.Tone) -> String {
        switch tone {
        case .neutral: "change"
        case _ where direction == 0 || !isCertain: "change"
        case .good: direction > 0 ? "change good" : "change bad"
        case .bad: direction > 0 ? "change bad" : "change good"
        }
    }

    /// A change of a range; nil if a bound is unknown, or its bounds did not move in one direction.
    ///
    /// - Parameter before: the lower and the upper bound.
    init?(fromRange before: [ReportValue?], to now: [ReportValue?], of measure: String) {
        let old = before.compactMap { $0.flatMap { ShownValue.amount($0, in: measure) } }
        let new = now.compactMap { $0.flatMap { ShownValue.amount($0, in: measure) } }
        guard old.count == 2, new.count == 2,
            Set((before + now).compactMap { $0?.currency }).count < 2
        else { return nil }
        let directions = zip(old, new).map { old, new in
            // A bound of 0 has no percentage.
            Change(from: old, to: new)?.direction ?? (new > old ? 1 : 0)
        }
        guard directions[0] == directions[1], directions[0] != 0 else { return nil }
        direction = directions[0]
        isCertain = new[0] > old[1] || new[1] < old[0]
        text =
            isCertain
            ? direction > 0 ? "above" : "below"
            : "both bounds \(direction > 0 ? "rose" : "fell")"
    }
}

extension PageContext.Compared {
    /// The earlier days in few words: `12–18 Nov`, `23 Nov until 13:00`.
    var earlierDays: String { words(before) }

    /// The compared part of the shown days, in the same way.
    var days: String { words(now) }

    /// Names both ranges.
    var sentence: String { "\(days) compared with \(earlierDays): \(words)." }

    private func words(_ days: PageContext.Days) -> String {
        let instants = [days.since, days.until].map { $0.flatMap(timeZone.milliseconds(text:)) }
        guard let first = instants[0], let last = instants[1] else { return "" }
        // The heading of the page has the year.
        let name = PageContext.name(
            ofDays: timeZone.day(milliseconds: first), timeZone.day(milliseconds: last - 1),
            hasYear: false)
        return name + (days.until.flatMap(time).map { " until \($0)" } ?? "")
    }

    /// The time of an instant on the zone's clock; nil for a day.
    private func time(_ text: String) -> String? {
        text.utf8.count > 10
            ? timeZone.milliseconds(text: text).map(timeZone.clockText(milliseconds:)) : nil
    }
}

extension ReportValue {
    /// Whether two decimals of a ratio would hide most of it.
    var isSmall: Bool {
        if case .decimal(let digits) = self { (Double(digits) ?? 0).magnitude < 0.1 } else { false }
    }

    /// The only currency of an amount.
    fileprivate var currency: String? {
        if case .money(let money) = self { money.amounts.first?.currency } else { nil }
    }
}

extension PageWriter {
    /// Figures of one row, each with its change against the compared days.
    ///
    /// - Parameter days: the rows of a request by day, for small lines; nil for none.
    mutating func cards(_ request: ReportAddress, _ cards: [Card], days: PageAnswer? = nil) throws {
        try self.cards([CardGroup(request, cards)], days: days)
    }

    /// The same for figures of several requests. A stream without a store has none, if another stream has.
    mutating func cards(_ groups: [CardGroup], days: PageAnswer? = nil) throws {
        let compared = context.compared(default: period)
        var found: [FoundCards] = []
        var missing: [String] = []
        var noStore: InspectionError?
        var unfiltered: [(cards: [Card], error: DashboardError)] = []
        for group in groups {
            do {
                // Rows of days cannot be limited to some hours.
                let isCompared =
                    group.isCompared && !(group.isOfDays && compared?.isPartial == true)
                found += try find(group, isCompared ? compared : nil)
            } catch InspectionError.noStore(let streams, let directories) {
                missing += streams
                noStore = .noStore(streams: streams, directories: directories)
            } catch let error as DashboardError {
                unfiltered.append((group.cards, error))
            }
        }
        if found.isEmpty, let error = unfiltered.first?.error { throw error }
        if let noStore, found.isEmpty { throw noStore }
        // Names the days once, so that each card needs only its earlier value.
        if let compared {
            paragraph(compared.sentence, class: "note compared")
            let measures = found.flatMap { $0.cards.map(\.low) }
            if let note = compared.notOfPostbacks, !measures.allSatisfy(compared.compares) {
                paragraph(note, class: "note")
            }
            writeMissingHours(
                compared,
                of: found.filter { $0.before != nil }.flatMap { group in
                    group.cards.flatMap(\.measures).map { (group.asked, $0) }
                })
        } else if let reason = context.notCompared(default: period) {
            paragraph(reason, class: "note compared")
        }
        let measures = found.flatMap { $0.cards.flatMap(\.measures) }
        let recordDays = days.flatMap { try? self.recordDays(of: measures, in: $0) }
        write { html in
            html.element("div", ["class": "cards"]) { html in
                for group in found { group.write(days, recordDays, to: &html) }
            }
        }
        for (cards, error) in unfiltered {
            guard case .unfiltered(let columns, let report) = error else { throw error }
            writeUnfiltered(columns, report, of: cards.map(\.title).joined(separator: ", "))
        }
        for stream in Set(missing).sorted() {
            paragraph("No records of \(stream) yet.", class: "note")
        }
        for group in found { writeCurrencies(of: group.shown) }
        var addresses: Set<String> = []
        files(of: found.map(\.asked).filter { addresses.insert($0.address.text).inserted })
    }

    /// The figures of a group; of amounts in several currencies one for each.
    private mutating func find(
        _ group: CardGroup, _ compared: PageContext.Compared?
    ) throws -> [FoundCards] {
        var request = group.request
        let derived = group.derived
        let wanted = group.cards.flatMap(\.measures) + derived.flatMap(\.parts)
        request.measures = (wanted + (request.measures ?? [])).reduce(into: []) { names, name in
            let isDerived = derived.contains { $0.name == name }
            if !isDerived, !names.contains(name) { names.append(name) }
        }
        var shown = try answer(request)
        if shown.rows.count > 1, let index = shown.index(of: "currency") {
            return try Set(shown.rows.map { $0[index].plainText }).sorted().filter { !$0.isEmpty }
                .flatMap { currency in try find(group.limited(to: currency), compared) }
                .map { $0.with(shown.request) }
        }
        shown.add(derived)
        // The shown days may include an hour that is not over, which the earlier days have in full.
        var now = try compared.map { $0.isPartial ? try answer(request, days: $0.now) : shown }
        if compared?.isPartial == true { now?.add(derived) }
        var before = try compared.map { try answer(request, days: $0.before) }
        before?.add(derived)
        // A step that the selection does not have at all is not worth a card.
        let cards = group.cards.filter { card in
            (shown.only(card.high)?.isZero ?? true) == false
                || (before?.only(card.high)?.isZero ?? true) == false
                || Self.isAlwaysShown(card) || group.keepsZeros
        }
        let joined = group.joinsEqual ? Self.joined(cards, [shown, now, before]) : cards
        return [
            FoundCards(
                cards: joined, shown: shown, now: now, before: before, asked: shown.request,
                keepsZeros: group.keepsZeros,
                uncompared: Set(joined.map(\.low).filter { compared?.compares($0) == false }))
        ]
    }

    /// Joins a card to the one before it if all its values are equal.
    private static func joined(_ cards: [Card], _ answers: [PageAnswer?]) -> [Card] {
        cards.reduce(into: []) { joined, card in
            guard let last = joined.last,
                answers.allSatisfy({ $0?.only(last.high) == $0?.only(card.high) })
            else { return joined.append(card) }
            joined[joined.count - 1] = last.named("\(last.title), \(card.title.lowercased())")
        }
    }

    /// Cards of results stay when they are 0 or unknown.
    private static func isAlwaysShown(_ card: Card) -> Bool {
        resultCards.contains { $0.low == card.low }
    }

    /// Offers to convert amounts of several currencies.
    mutating func writeCurrencies(of answer: PageAnswer) {
        let currencies = Set(answer.rows.joined().flatMap(\.currencies)).subtracting([""])
        guard currencies.count > 1, answer.request.target == nil else { return }
        let rates = source.currencies
        let context = context
        write { html in
            html.element("p", ["class": "note"]) { html in
                html.text(
                    "Amounts are in \(currencies.sorted().joined(separator: " and ")), so ratios and charts of money are missing. "
                )
                guard let target = rates.first else {
                    return html.text("Add rates.csv to convert them.")
                }
                html.link(
                    "Convert to \(target)",
                    to: context.address(changing: [PageContext.currency: target]))
            }
        }
    }
}

/// Cards of one request.
struct CardGroup {
    var request: ReportAddress
    let cards: [Card]
    var derived: [DerivedColumn] = []
    /// Whether cards of equal values become one, which links to the first.
    var joinsEqual = false
    /// Whether cards have a change. Figures that grow with age have none: earlier days would always be ahead.
    var isCompared = true
    /// Whether its rows have days instead of hours, so that a part of a day cannot be compared.
    var isOfDays = false
    /// Whether cards of 0 stay.
    var keepsZeros = false

    init(
        _ request: ReportAddress, _ cards: [Card], _ derived: [DerivedColumn] = [],
        joinsEqual: Bool = false, isCompared: Bool = true, isOfDays: Bool = false,
        keepsZeros: Bool = false
    ) {
        self.isOfDays = isOfDays
        self.keepsZeros = keepsZeros
        self.request = request
        self.cards = cards
        self.derived = derived
        self.joinsEqual = joinsEqual
        self.isCompared = isCompared
    }

    fileprivate func limited(to currency: String) -> CardGroup {
        var request = request
        request.conditions.append(.init(column: "currency", value: currency))
        return CardGroup(
            request, cards.map { $0.named("\($0.title), \(currency)") }, derived,
            joinsEqual: joinsEqual, isCompared: isCompared, isOfDays: isOfDays,
            keepsZeros: keepsZeros)
    }
}

/// The figures of a group, of the shown, the compared and the earlier days.
private struct FoundCards {
    let cards: [Card]
    let shown: PageAnswer
    let now: PageAnswer?
    let before: PageAnswer?
    /// The request of its files: that of all currencies.
    var asked: ReportAddress
    let keepsZeros: Bool
    /// The measures without a change, because the earlier days do not have them in full.
    let uncompared: Set<String>

    func with(_ asked: ReportAddress) -> FoundCards {
        var found = self
        found.asked = asked
        return found
    }

    func write(_ days: PageAnswer?, _ recordDays: RecordDays?, to html: inout HTML) {
        for card in cards {
            html.card(card.title) { html in
                amount(card, shown, to: &html)
                parts(of: card, to: &html)
                if let share = card.share, let row = shown.rows.first, shown.rows.count == 1 {
                    html.interval(shown.interval(share, of: row))
                }
                if let now, let before, !uncompared.contains(card.low) {
                    change(
                        card, now, before, isPartial: now.request.until != shown.request.until,
                        to: &html)
                }
                if let days { Self.line(card, days, recordDays, to: &html) }
            }
        }
    }

    private func amount(_ card: Card, _ answer: PageAnswer, to html: inout HTML) {
        let isInterval = value(card.low, answer) != value(card.high, answer)
        html.element("span", ["class": isInterval ? "amount interval" : "amount"]) { html in
            range(card, answer, to: &html)
        }
    }

    /// The parts of the shown value.
    private func parts(of card: Card, to html: inout HTML) {
        guard !card.parts.isEmpty else { return }
        html.element("span", ["class": "before"]) { html in
            for (index, part) in card.parts.enumerated() {
                if index > 0 { html.text(", ") }
                NumberLink(shown, row: shown.rows.first).write(
                    value(part.measure, shown), of: part.measure, to: &html)
                html.text(" \(part.title)")
            }
        }
    }

    /// The value of the only row. Without any row, nothing was counted.
    private func value(_ measure: String, _ answer: PageAnswer) -> ReportValue? {
        let isCount = !ShownValue.isShare(measure) && !MoneyByCurrency.isMoney(measure)
        return answer.only(measure)
            ?? (keepsZeros && isCount && answer.rows.isEmpty ? .integer(0) : nil)
    }

    private func range(_ card: Card, _ answer: PageAnswer, to html: inout HTML) {
        let link = NumberLink(answer, row: answer.rows.first)
        let (low, high) = (value(card.low, answer), value(card.high, answer))
        let isRatio =
            card.low == "cpi" || card.low != card.high && !MoneyByCurrency.isMoney(card.low)
        let decimals = isRatio && low?.isSmall != true ? 2 : nil
        link.write(low, of: card.low, decimals: decimals, to: &html)
        guard low != high else { return }
        html.text(" to ")
        link.write(high, of: card.high, decimals: decimals, isShort: true, to: &html)
    }

    /// The change, and the values that it compares: `+12 % (was 1,234)`, `+12 % (1,380, was 1,234)`.
    ///
    /// - Parameter isPartial: whether the compared part of the shown days has a value of its own.
    private func change(
        _ card: Card, _ now: PageAnswer, _ before: PageAnswer, isPartial: Bool, to html: inout HTML
    ) {
        html.element("span", ["class": "before"]) { html in
            if card.low == card.high,
                let change = Change(
                    from: value(card.low, before), to: value(card.low, now), of: card.low)
            {
                html.element(
                    "span", ["class": change.style(card.tone)],
                    text: "\(change.symbol)\(change.text)")
                html.text(" ")
            } else if card.low != card.high,
                let change = Change(
                    fromRange: [before.only(card.low), before.only(card.high)],
                    to: [now.only(card.low), now.only(card.high)], of: card.low)
            {
                html.element(
                    "span", ["class": change.style(card.tone)],
                    text: "\(change.symbol)\(change.text)")
                html.text(" ")
            }
            html.text("(")
            if isPartial, now.only(card.low) != nil {
                range(card, now, to: &html)
                html.text(", ")
            }
            html.text("was ")
            range(card, before, to: &html)
            html.text(")")
        }
    }

    private static func line(
        _ card: Card, _ days: PageAnswer, _ recordDays: RecordDays?, to html: inout HTML
    ) {
        guard days.index(of: card.low) != nil, days.index(of: card.high) != nil else { return }
        SmallLine(
            title: "\(card.title) by day",
            points: days.points(days.rows, card.low, card.high, recordDays)
        ).write(to: &html)
    }
}

extension HTML {
    mutating func card(_ title: String, _ body: (inout HTML) -> Void) {
        element("div", ["class": "card"]) { html in
            html.element("span", ["class": "title"], text: title)
            body(&html)
        }
    }

    /// The interval of a share in a card.
    mutating func interval(_ words: String?) {
        guard let words else { return }
        element("span", ["class": "before"], text: "95 % interval \(words)")
    }
}
