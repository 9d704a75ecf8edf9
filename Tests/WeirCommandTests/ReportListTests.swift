import Reports
import TestKit
import Testing

@testable import Dashboard
@testable import weir

/// What a computed report's value says of it is all that commands, pages and docs know of it.
@Suite("Every report")
struct ReportListTests {
    @Test("has a name of its own")
    func names() {
        #expect(Set(reportNames()).count == reportNames().count)
    }

    @Test("of the list is in the help of weir dump, among the pages, in the docs and in the guards")
    func list() throws {
        let help = DumpCommand.configuration.discussion
        let pages = PageRoute.all.map(\.path)
        let guards = try Repository.text("Tests/Guards/guards")
        for report in allReports {
            let name = report.name
            let paragraph = try #require(report.help, "\(name)")
            #expect(help.contains(paragraph), "\(name)")
            let page = try #require(
                paragraph.firstMatch(of: /docs\/[a-z\/-]+\.md/).map { String($0.output) }, "\(name)"
            )
            #expect(try Repository.text(page).contains("weir dump \(name)"), "\(page): \(name)")
            for kind in PageRoute.OfDump.allCases {
                #expect(pages.contains("/\(kind.rawValue)/\(name)"), "\(name)")
            }
            #expect(guards.contains("\"\(name)\""), "\(name)")
        }
    }

    @Test("has columns, and no name for a column and a measure")
    func columns() throws {
        for name in reportNames() {
            let report = try requireReport(name)
            #expect(!report.columnNames.isEmpty, "\(name)")
            #expect(Set(report.columnNames).isDisjoint(with: report.measureNames), "\(name)")
            #expect(Set(report.pageColumns).isSubset(of: report.columnNames), "\(name)")
        }
    }
}
