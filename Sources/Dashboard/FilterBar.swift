import Reports
import Wording

/// The bar on top of a page: its days, their comparison, and filters with names. It works without a script: a form that
/// asks for the same page with other parameters.
struct FilterBar {
    let context: PageContext
    let page: DashboardPage?
    /// The request of the address, on the page of a report.
    let report: ReportAddress?
    let period: PageContext.Period
    let names: PageNames
    /// The currencies of `rates.csv`.
    let currencies: [String]
    /// The filters and days of the page, and the reports that ignored them.
    let use: FilterUse
    /// The source apps to choose from, with the most bids first; empty for none.
    var sourceApps: [String] = []

    /// More choices than these are a field with suggestions instead of a menu.
    private static let mostOptions = 300

    private var isOfDays: Bool { page?.isOfDays ?? true }
    private var isFiltered: Bool { page?.isOfEverything != true && page != .reports }

    /// The filters with a field. An empty field limits nothing, so a request for rows without a value has no fields.
    private var fields: [String] {
        guard isFiltered, let report else { return isFiltered ? PageContext.filters : [] }
        guard !report.hasEmptyFilter else { return [] }
        return PageContext.filters.filter { context.canApply($0, to: report.columns) }
    }

    /// The parameter of a field.
    private func parameter(_ filter: String) -> String {
        guard let report else { return filter }
        let applied = context.applied(.init(column: filter, value: ""), to: report.columns)
        return applied?.column == ReportRequest.catalogCampaign
            ? ReportRequest.catalogCampaign : filter
    }

    private var hasCurrency: Bool { isFiltered && report?.has(.amounts) ?? true }

    /// The parameters without a field, which the form keeps.
    private var kept: [(name: String, value: String)] {
        let shown = fields.map(parameter)
        let filters = PageContext.filters.filter { !shown.contains($0) }
        return context.own.filter { !shown.contains($0.name) }
            + (filters + (hasCurrency ? [] : [PageContext.currency])).compactMap { name in
                context.parameters[name].nonempty.map { (name, $0) }
            }
    }

    func write(to html: inout HTML) {
        guard isOfDays || isFiltered else { return chips(to: &html) }
        html.element(
            "form", ["method": "get", "class": "filters", "aria-label": "Days and filters"]
        ) {
            html in
            if isOfDays { days(to: &html) }
            html.element("details", ["class": "more"]) { html in
                html.element("summary") { html in
                    html.text("Filters")
                    let count = context.chosen.count + (context.hasOwnCurrency ? 1 : 0)
                    if count > 0 { html.text(" (\(count))") }
                }
                html.element("div", ["class": "fields"]) { html in
                    if isOfDays, report?.hasEmptyFilter != true { dates(to: &html) }
                    for column in fields { filter(column, to: &html) }
                    if hasCurrency { currency(to: &html) }
                }
            }
            for (name, value) in kept where report != nil || !value.isEmpty {
                hidden(name, value, to: &html)
            }
            html.element("button", ["type": "submit", "class": "apply"], text: "Apply")
        }
        chips(to: &html)
    }

    private func hidden(_ name: String, _ value: String, to html: inout HTML) {
        html.element("input", ["type": "hidden", "name": name, "value": value])
    }

    private func days(to html: inout HTML) {
        let chosen = context.period(default: period)
        let zone = context.timeZone
        labelled(zone.isUTC ? "Days" : "Days (\(zone.name))", class: "days", to: &html) { html in
            html.element("select", ["name": PageContext.period]) { html in
                option("", "From, before …", isSelected: chosen == nil, to: &html)
                let menu = PageContext.Period.menu
                for choice in menu + [chosen].compactMap(\.self).filter({ !menu.contains($0) }) {
                    option(
                        choice.rawValue, context.label(choice), isSelected: chosen == choice,
                        to: &html)
                }
            }
        }
        // Without this parameter, an empty filter selects rows without a value.
        if report?.hasEmptyFilter != true {
            hidden(PageContext.shownPeriod, chosen?.rawValue ?? "", to: &html)
        }
        guard page?.isCompared ?? (report == nil) else {
            guard let compare = context.parameters[PageContext.compare].nonempty else { return }
            return hidden(PageContext.compare, compare, to: &html)
        }
        labelled("Compare with", to: &html) { html in
            html.element("select", ["name": PageContext.compare]) { html in
                for choice in PageContext.Comparison.allCases {
                    option(
                        choice == .previous ? "" : choice.rawValue, choice.label,
                        isSelected: context.comparison == choice, to: &html)
                }
            }
        }
    }

    private func dates(to html: inout HTML) {
        let isOfDates = context.period(default: period) == nil
        for (name, label) in [("since", "From"), ("until", "Before")] {
            labelled(label, class: "dates", to: &html) { html in
                html.element(
                    "input",
                    [
                        "type": "date", "name": name,
                        "value": isOfDates ? day(context.parameters[name]) : "",
                    ])
            }
        }
    }

    /// The day of a date or an instant; empty without one.
    private func day(_ time: String?) -> String {
        time.flatMap(context.timeZone.milliseconds(text:)).map(
            context.timeZone.day(milliseconds:)) ?? ""
    }

    private func filter(_ column: String, to html: inout HTML) {
        guard !context.scope.contains(where: { $0.column == column }) else { return }
        let parameter = parameter(column)
        let value = context.parameters[parameter].nonempty
        let choices = column == PageContext.sourceApp ? sourceChoices : names.choices(column)
        labelled(ShownValue.heading(column), to: &html) { html in
            guard !choices.isEmpty, choices.count <= Self.mostOptions else {
                return field(parameter, value, choices, to: &html)
            }
            html.element("select", ["name": parameter]) { html in
                option("", "All", isSelected: value == nil, to: &html)
                if let value, !choices.contains(where: { $0.value == value }) {
                    option(value, value, isSelected: true, to: &html)
                }
                var shown: Set<String> = []
                for group in choices.map(\.group) where shown.insert(group).inserted {
                    let members = choices.filter { $0.group == group }
                    guard !group.isEmpty else {
                        for choice in members { option(choice, value, to: &html) }
                        continue
                    }
                    html.element("optgroup", ["label": group]) { html in
                        for choice in members { option(choice, value, to: &html) }
                    }
                }
            }
        }
    }

    private var sourceChoices: [PageNames.Choice] {
        sourceApps.map {
            .init(value: $0, name: names.name($0, in: PageContext.sourceApp) ?? $0)
        }
    }

    private func currency(to html: inout HTML) {
        let chosen = context.target
        let all = currencies + [chosen].compactMap(\.self).filter { !currencies.contains($0) }
        guard !all.isEmpty else { return }
        labelled("Currency", to: &html) { html in
            html.element("select", ["name": PageContext.currency]) { html in
                let own = context.reportCurrency
                option(
                    own == nil ? "" : PageContext.recorded, "As recorded",
                    isSelected: chosen == nil, to: &html)
                for currency in all {
                    option(
                        currency == own ? "" : currency, currency,
                        isSelected: chosen == currency, to: &html)
                }
            }
        }
    }

    private func field(
        _ column: String, _ value: String?, _ choices: [PageNames.Choice], to html: inout HTML
    ) {
        let list = choices.isEmpty ? nil : "names-\(column)"
        html.element(
            "input",
            [
                "type": "text", "name": column, "value": value ?? "", "size": "12", "list": list,
                "placeholder": "All",
            ])
        guard let list else { return }
        html.element("datalist", ["id": list]) { html in
            for choice in choices {
                html.element("option", ["value": choice.value], text: choice.name)
            }
        }
    }

    private func option(
        _ choice: PageNames.Choice, _ chosen: String?, to html: inout HTML
    ) {
        option(choice.value, choice.name, isSelected: choice.value == chosen, to: &html)
    }

    private func option(
        _ value: String, _ text: String, isSelected: Bool, to html: inout HTML
    ) {
        html.element("option", ["value": value, "selected": isSelected ? "" : nil], text: text)
    }

    private func labelled(
        _ text: String, class name: String? = nil, to html: inout HTML,
        _ body: (inout HTML) -> Void
    ) {
        html.element("label", ["class": name]) { html in
            html.element("span", text: ShownValue.sentence(text))
            body(&html)
        }
    }

    // MARK: Chips

    /// The active filters. Each says where it does not apply, and has a link that removes it.
    private func chips(to html: inout HTML) {
        let asked = (report?.conditions ?? []).filter { asked in
            !context.chosen.contains {
                asked == $0 || asked == context.applied($0, to: report?.columns ?? [])
            }
        }
        let chosen = (context.chosen + asked).filter { condition in
            !context.scope.contains { $0.column == condition.column }
        }
        let hasDates = !isOfDays && context.isLimitedInTime
        guard !chosen.isEmpty || !context.scope.isEmpty || hasDates || context.hasOwnCurrency
        else {
            return
        }
        html.element("ul", ["class": "chips", "aria-label": "Active filters"]) { html in
            for condition in context.scope {
                html.element("li", ["class": "chip fixed"]) { html in
                    label(condition, to: &html)
                    html.element("em", text: "limit of your token")
                }
            }
            for condition in chosen {
                html.element("li", ["class": "chip"]) { html in
                    label(condition, to: &html)
                    if let note = note(condition.column) { html.element("em", text: note) }
                    remove(
                        [condition.column], ShownValue.heading(condition.column), to: &html)
                }
            }
            if context.hasOwnCurrency {
                html.element("li", ["class": "chip"]) { html in
                    html.text("Currency: ")
                    html.element("b", text: context.target ?? "as recorded")
                    if let note = note(PageContext.currency) { html.element("em", text: note) }
                    remove([PageContext.currency], "currency", to: &html)
                }
            }
            if hasDates {
                html.element("li", ["class": "chip"]) { html in
                    html.text("Days")
                    html.element("em", text: "not used on this page")
                    remove(PageContext.ofDays, "days", to: &html)
                }
            }
        }
    }

    private func label(_ condition: ReportRequest.Condition, to html: inout HTML) {
        let heading = ShownValue.heading(condition.column)
        let name = names.name(condition.value, in: condition.column) { column in
            (context.scope + context.chosen).first { $0.column == column }?.value
        }
        html.text("\(ShownValue.sentence(heading)): ")
        html.element("b", text: name ?? (condition.value.isEmpty ? "none" : condition.value))
    }

    private func remove(_ columns: [String], _ name: String, to html: inout HTML) {
        let address = context.address(
            changing: Dictionary(uniqueKeysWithValues: columns.map { ($0, nil) }))
        html.element(
            "a", ["href": address.text, "aria-label": "Remove the filter \(name)"], text: "×")
    }

    private func note(_ column: String) -> String? {
        guard isFiltered else { return "not used on this page" }
        guard column != PageContext.currency || use.isKnown(column) else {
            return "not used on this page"
        }
        let hidden = use.hidden(column)
        guard hidden == 0 else {
            return use.isApplied(column)
                ? "not possible for \(counted(hidden, "part")) of this page"
                : "not possible on this page"
        }
        let ignored = use.ignored(column)
        guard !ignored.isEmpty else { return nil }
        return use.isApplied(column)
            ? "not used for \(ignored.joined(separator: ", "))" : "not used on this page"
    }
}

/// The reports of a page that applied or ignored each filter, and the parts that a filter hides.
struct FilterUse {
    private var applied: [String: Set<String>] = [:]
    private var ignoring: [String: Set<String>] = [:]
    private var hiddenParts: [String: Int] = [:]
    /// The currencies and days without a rate; nil if all amounts could be converted.
    var missingRates: String?

    mutating func add(_ column: String, of report: String, isApplied: Bool) {
        if isApplied {
            applied[column, default: []].insert(report)
        } else {
            ignoring[column, default: []].insert(report)
        }
    }

    /// Whether any report could have applied it.
    func isKnown(_ column: String) -> Bool { applied[column] != nil || ignoring[column] != nil }

    func isApplied(_ column: String) -> Bool { applied[column] != nil }

    func ignored(_ column: String) -> [String] { (ignoring[column] ?? []).sorted() }

    /// Adds a part that is not shown, because the filter cannot limit its numbers.
    mutating func addHidden(_ column: String) { hiddenParts[column, default: 0] += 1 }

    /// The number of parts that are not shown.
    func hidden(_ column: String) -> Int { hiddenParts[column] ?? 0 }
}
