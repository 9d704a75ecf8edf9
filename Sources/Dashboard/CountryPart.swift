import Reports
import Streams

// Spend and sales by country. Of all amounts, only imported costs and notifications of the App Store name one.

extension PageWriter {
    static let aboutCountries = """
        Costs are those that ad platforms and finance report, by the day of the report. Amounts billed for bids name no \
        country and are not included. Sales are payments in the App Store by its storefront, of all buyers with or \
        without an ad. So sales divided by costs are not the return of the ads.
        """

    private static let costs = ReportAddress("costs")

    private static var sales: ReportAddress {
        var request = ReportAddress("store-notifications")
        request.conditions = [.init(column: "environment", value: "Production")]
        return request
    }

    /// Figures of the chosen country; nothing without one.
    mutating func writeChosenCountry() throws {
        guard let country = context.chosen.first(where: { $0.column == "country" }) else { return }
        let address = PageAddress(
            DashboardPage.campaigns.path, context.carried.filter { $0.name != country.column })
        try section(
            "Spend and sales in \(Countries.name(of: country.value))", Self.aboutCountries
        ) { page in
            try page.cards([
                CardGroup(
                    Self.costs,
                    [
                        Card("Reported costs", "cost_micros"),
                        Card("Installs, as ad platforms report them", "reported_installs", .good),
                    ]),
                CardGroup(
                    Self.sales,
                    [
                        Card("Sales", "gross_micros", .good),
                        Card("Sales less refunds", "net_micros", .good),
                    ], [.of(.netSales)]),
            ])
            page.write { html in
                html.element("p") { $0.link("All countries, on Campaigns", to: address) }
            }
        }
    }

    /// Costs beside sales, one row for each country and currency.
    mutating func writeByCountry() throws {
        try section("By country", Self.aboutCountries) { try $0.writeCountries() }
    }

    private mutating func writeCountries() throws {
        var costs = Self.costs
        costs.by = ["country", "currency"]
        var sales = Self.sales
        sales.by = [PageContext.storefront, "currency"]
        var found: [(label: String, answer: PageAnswer)] = []
        var faults: [any Error] = []
        for (label, request) in [("reported costs", costs), ("sales", sales)] {
            do {
                var answer = try answer(request)
                answer.add([.of(.netSales)])
                answer.show(["cost_micros", "gross_micros", "refunded_micros", "net_micros"])
                found.append((label, answer))
            } catch InspectionError.noStore(let streams, let directories) {
                faults.append(
                    InspectionError.noStore(streams: streams, directories: directories))
            } catch DashboardError.unfiltered(let columns, let report) {
                faults.append(DashboardError.unfiltered(columns, report: report))
                guard !found.isEmpty else { continue }
                writeUnfiltered(columns, report, of: ShownValue.sentence(label))
            }
        }
        if found.isEmpty, let fault = faults.first { throw fault }
        let table = JoinedTable(
            found.map(\.answer), sort: "cost_micros", labels: found.map(\.label))
        guard !table.isEmpty else { return writeNoRows() }
        let (context, names, title) = (context, source.names(for: context.scope), sectionTitle)
        write { html in
            table.write(named: title, to: &html) { column, value, html in
                let isCountry = column == "country" && !value.isEmpty
                html.named(
                    value, names.name(value, in: column),
                    link: isCountry ? context.address(changing: [column: value]) : nil)
            }
        }
        writeConstants(table.constantKeys)
        writeMoreRows(table.moreRows)
        files(of: found.map(\.answer.request))
    }
}
