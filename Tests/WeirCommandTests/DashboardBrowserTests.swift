import Foundation
import TestKit
import Testing

@testable import Dashboard

@Suite(
    "The dashboard in a browser", .serialized, .inBrowser, .timeLimit(.minutes(10)),
    .enabled(if: FileManager.default.isExecutableFile(atPath: Browser.path)))
struct DashboardBrowserTests {
    static let widths = [1440, 1024, 390]

    private func gallery() throws -> BrowserGallery { try #require(BrowserGallery.current) }

    // MARK: Layout

    @Test(
        "no page scrolls sideways, cuts or breaks a number, reports an error, or names another host",
        arguments: ShownPage.all + ShownPage.ofAnotherDashboard)
    func layout(_ page: ShownPage) throws {
        let (tab, faults) = try gallery().show(page)
        #expect(faults.filter { !$0.contains(page.expectedFault) } == [])
        for width in Self.widths {
            try tab.show(width: width)
            let found = try tab.evaluate(Self.layoutFaults) as? [String]
            #expect(found == [], "\(page.name), \(width) px")
        }
        let text = try tab.evaluate("document.documentElement.outerHTML") as? String ?? ""
        #expect(text.contains("<h1>"))
        #expect(!text.contains(#/(src|href|action)="(https?:)?\/\//#))
        #expect(try tab.consoleFaults() == [])
    }

    /// Texts that are cut off or outside of the window, and numbers that continue on the next line. What a box of its own
    /// scrolls is not cut off.
    private static let layoutFaults = #"""
        (() => {
          const faults = [];
          const wide = document.documentElement.scrollWidth;
          if (wide > innerWidth) faults.push(`the page is ${wide} px wide`);
          const styles = new Map();
          const style = (element) => {
            if (!styles.has(element)) styles.set(element, getComputedStyle(element));
            return styles.get(element);
          };
          const isCut = (text, element) => {
            for (let box = element; box && box !== document.body; box = box.parentElement) {
              const { overflowX, overflowY } = style(box);
              if (/auto|scroll/.test(overflowX + overflowY)) return false;
              if (!/hidden|clip/.test(overflowX + overflowY)) continue;
              const own = box.getBoundingClientRect();
              if (text.left < own.left - 1 || text.right > own.right + 1) return true;
              if (text.top < own.top - 1 || text.bottom > own.bottom + 1) return true;
            }
            return text.left < -1 || text.right > innerWidth + 1;
          };
          const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
          for (let node = walker.nextNode(); node; node = walker.nextNode()) {
            const element = node.parentElement;
            if (!node.data.trim() || !element.checkVisibility() || element.closest(".skip, option, title")) continue;
            const range = document.createRange();
            range.selectNodeContents(node);
            const box = range.getBoundingClientRect();
            const place = `"${node.data.trim().slice(0, 60)}" in ${element.localName}.${element.className}`;
            if (isCut(box, element)) faults.push(`${place} is cut off`);
            if (!element.closest(".number, .amount")) continue;
            for (const match of node.data.matchAll(/\d[\d.,]*\d/g)) {
              range.setStart(node, match.index);
              range.setEnd(node, match.index + match[0].length);
              if (range.getClientRects().length > 1) faults.push(`${place} is broken`);
            }
          }
          return faults;
        })()
        """#

    @Test("a table wider than the window scrolls in its box to its last column, and says so")
    func wideTables() throws {
        let columns = CampaignColumn.all.map(\.id).joined(separator: ",")
        let (tab, _) = try gallery().open("/campaigns?columns=\(columns)")
        try tab.show(width: 1400)
        let found =
            try tab.evaluate(
                #"""
                (() => {
                  dispatchEvent(new Event("resize"));
                  const boxes = [...document.querySelectorAll(".scroll")];
                  const isMarked = boxes.every(
                    (box) => box.matches(".wide") === box.scrollWidth > box.clientWidth + 1);
                  const box = boxes.find((box) => box.querySelector(".campaigns"));
                  box.scrollLeft = box.scrollWidth;
                  const last = box.querySelector("thead th:last-child").getBoundingClientRect();
                  return [
                    isMarked, box.matches(".wide"), last.right <= box.getBoundingClientRect().right,
                    document.documentElement.scrollWidth <= innerWidth,
                  ];
                })()
                """#) as? [Bool]
        #expect(found == [true, true, true, true])
        try tab.close()
    }

    // MARK: Accessibility

    @Test(
        "no page breaks a rule of axe-core, on wide screens and phones, light and dark",
        arguments: ShownPage.all + ShownPage.ofAnotherDashboard)
    func accessibility(_ page: ShownPage) throws {
        let axe = try #require(
            try? Repository.text(Self.axe), "\(Self.axe) is missing: ops/test downloads it")
        let (tab, _) = try gallery().show(page)
        let world = try tab.makeWorld()
        try tab.evaluate(axe, in: world)
        try tab.evaluate(Self.removeRepeatedRows)
        defer {
            _ = try? tab.evaluate("allRows.forEach((rows, body) => body.replaceChildren(...rows))")
        }
        for width in [1440, 390] {
            for isDark in [false, true] {
                // axe-core does not look at what a table would have to be scrolled to.
                try tab.show(width: width, height: 5000, isDark: isDark)
                // Only contrast depends on colours.
                let rules =
                    isDark
                    ? #"runOnly: ["color-contrast"]"#
                    : #"rules: { "target-size": { enabled: true } }"#
                let script = """
                    axe.run({ resultTypes: ["violations"], \(rules) }).then(
                      ({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(
                        ({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`)))
                    """
                let found = try tab.evaluate(script, in: world) as? [String]
                #expect(
                    found == [], "\(page.name), \(width) px, \(isDark ? "dark" : "light")")
            }
        }
    }

    /// Removes rows of long tables that contain no new class: their structure and colours are those of earlier rows.
    private static let removeRepeatedRows = #"""
        var allRows = new Map();
        for (const body of document.querySelectorAll("tbody")) {
          allRows.set(body, [...body.rows]);
          const seen = new Set();
          for (const row of allRows.get(body)) {
            const classes = [...row.querySelectorAll("*")].map((part) => `${part.localName} ${part.getAttribute("class")}`);
            if (row.rowIndex > 8 && classes.every((name) => seen.has(name))) row.remove();
            classes.forEach((name) => seen.add(name));
          }
        }
        """#

    private static let axe = ".build/axe-core/axe_playwright_python/axe.min.js"

    // MARK: Pictures

    /// A number of six digits has about 40 pixels of the stored size.
    private static let mostChangedPixels = 30
    private static let mostHeight = 2400

    @Test(
        "every page looks like its stored pictures: run with WEIR_UPDATE_PICTURES=1 after a change",
        arguments: ShownPage.all)
    func pictures(_ page: ShownPage) throws {
        let gallery = try gallery()
        let (tab, _) = try gallery.show(page)
        try tab.evaluate(Self.hideVaryingContent(of: gallery.directories))
        let isUpdate = ProcessInfo.processInfo.environment["WEIR_UPDATE_PICTURES"] == "1"
        for width in Self.widths {
            let picture = try tab.picture(width: width, mostHeight: Self.mostHeight)
            let name = "\(page.name)-\(width).png"
            let file = URL(filePath: Repository.path("Tests/Fixtures/pages/\(name)"))
            let old = isUpdate ? nil : try Data(contentsOf: file).base64EncodedString()
            let result = try gallery.comparison.compare(picture, with: old)
            guard let changed = result.changed else {
                try Data(base64Encoded: result.stored)?.write(to: file)
                continue
            }
            guard changed > Self.mostChangedPixels else { continue }
            let marked = Repository.path(".build/pages/\(name)")
            try FileManager.default.createDirectory(
                atPath: Repository.path(".build/pages"), withIntermediateDirectories: true)
            try Data(base64Encoded: result.marked)?.write(to: URL(filePath: marked))
            Issue.record(
                "\(name) differs in \(changed) pixels, within left, top, right, bottom \(result.place): see \(marked)"
            )
        }
    }

    @Test("every stored picture belongs to a page")
    func noOtherPictures() throws {
        let stored = try Repository.files(in: "Tests/Fixtures/pages", endingIn: ".png")
        let pages = ShownPage.all.flatMap { page in Self.widths.map { "\(page.name)-\($0).png" } }
        #expect(stored.map(\.lastPathComponent) == pages.sorted())
    }

    @Test("the last records are reloaded until the reader pauses them")
    func reloads() throws {
        let gallery = try gallery()
        let (tab, _) = try gallery.open("/live?topic=costs")
        let begun = try tab.evaluate("performance.timeOrigin") as? Double
        try tab.waitForReload()
        #expect(try tab.evaluate("performance.timeOrigin") as? Double != begun)
        try tab.follow("document.querySelector('[data-reload] a').click()")
        #expect(
            try tab.evaluate("location.search") as? String == "?topic=costs&paused=1")
        #expect(try tab.evaluate("!document.querySelector('[data-reload]')") as? Bool == true)
        try tab.close()
    }

    /// Pictures have fonts of the same widths on every machine, and no path, time or size of a file. The boxes of tables are
    /// as high as in a window of 900 pixels.
    private static func hideVaryingContent(of directories: [String]) -> String {
        """
        (() => {
          const sheet = new CSSStyleSheet();
          sheet.replaceSync(`body { font-family: "DejaVu Sans" !important; } pre, code { font-family: "DejaVu Sans Mono"; }
            .scroll { max-height: 702px; }`);
          document.adoptedStyleSheets = [sheet];
          for (const { tHead, tBodies } of document.querySelectorAll("table")) {
            [...tHead.rows[0].cells].forEach((head, index) => {
              if (!["bytes", "last commit", "lag seconds", "value"].includes(head.textContent)) return;
              for (const row of tBodies[0].rows) row.cells[index].textContent = "–";
            });
          }
          const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
          for (let node = walker.nextNode(); node; node = walker.nextNode()) {
            for (const path of \(directories)) node.data = node.data.replaceAll(path, "data");
          }
        })()
        """
    }
}

extension ShownPage {
    /// What the console reports of a page that does not exist.
    fileprivate var expectedFault: String { name == "not-found" ? "404" : "no fault" }
}
