import Foundation
import TestKit
import Testing

@testable import Dashboard

/// A page that tests open in a browser.
struct ShownPage: CustomTestStringConvertible {
    /// The name of its pictures.
    let name: String
    /// A path of the demo's dashboard, or a whole address.
    let address: String

    var testDescription: String { name }

    /// Every page of the navigation, and pages that others link to.
    static let all =
        DashboardPage.allCases.map { page in
            // A page that reloads would not wait for the tests.
            ShownPage(name: page.rawValue, address: page.path + (page == .live ? "?paused=1" : ""))
        }
        + [
            ("sign-in", "/sign-in"), ("not-found", "/nowhere"),
            ("campaign", "/campaign?\(campaign)&in=USD"),
            ("compare", "/compare?in=USD&pick0=\(picks[0])&pick1=\(picks[1])"),
            ("explanation", "/explain/postbacks?measure=postbacks&\(day)"),
            ("rate", "/explain/funnel?measure=cpi&\(day)&\(campaign)"),
            ("record", "/record?topic=impressions&partition=0&offset=0"),
            ("dump", "/dump/impressions?by=format,placement"),
            ("changes", "/changes/funnel?from=2026-11-20"),
            ("requeue", "/operate/requeue?topic=postbacks&reason=out_of_range"),
        ].map { ShownPage(name: $0.0, address: $0.1) }

    /// The pages of the navigation of another dashboard that runs, as over a large log.
    static let ofAnotherDashboard =
        ProcessInfo.processInfo.environment["WEIR_TEST_DASHBOARD"].map { address in
            DashboardPage.allCases.map {
                ShownPage(name: "\($0.rawValue) of \(address)", address: "\(address)\($0.path)")
            }
        } ?? []

    private static let campaign =
        "campaign=7351&app_id=6448231907&ad_network_id=bp6x1n8trc.skadnetwork"
    private static let day = "since=2026-11-24&until=2026-11-25"
    private static let picks = [
        "bp6x1n8trc.skadnetwork%206448231907%207351", "bp6x1n8trc.skadnetwork%206448231907%207352",
    ]
}

/// The dashboard of the demo's sixty days in a browser, signed in as an operator. The tests of a suite share it.
///
/// Its tests run one after the other, so that no two use it at the same time.
final class BrowserGallery: @unchecked Sendable {
    @TaskLocal static var current: BrowserGallery?

    let comparison: PictureComparison
    /// The directories of files that this run has made. Pages name them.
    var directories: [String] { [pipelines.path, data] }

    private let data: String
    private let pipelines: TemporaryDirectory
    private let dashboard: Program
    private let address: String
    private let browser: Browser
    private var tabs: [String: (tab: BrowserTab, faults: [String])] = [:]

    init() throws {
        data = try DemoStores.shared.get().path
        pipelines = try TemporaryDirectory()
        let own = "\(pipelines.path)/pipelines"
        try FileManager.default.copyItem(atPath: "\(data)/pipelines", toPath: own)
        try pipelines.write(String(repeating: "k", count: 43) + "\n", to: "pipelines/k1")
        try pipelines.write("token_keys: [{id: k1, file: k1}]\n", to: "pipelines/collector.yaml")
        dashboard = try Program(
            "weir",
            [
                "dashboard", "--listen", "127.0.0.1:0", "--data", data, "--pipelines", own,
                "--at", "2026-11-25T23:59:00Z",
            ])
        address = "http://127.0.0.1:\(try dashboard.port(after: "dashboard: http://127.0.0.1:"))"
        browser = try Browser()
        comparison = try PictureComparison(browser)
        try signIn(pipelines: own)
    }

    private func signIn(pipelines: String) throws {
        let token = try Program.run(
            "weir", ["token", "make", "--operate", "--name", "anna", "--pipelines", pipelines]
        ).output.trimmingCharacters(in: .newlines)
        let tab = try BrowserTab(browser)
        _ = try tab.open("\(address)/sign-in")
        try tab.evaluate("document.querySelector('[name=token]').value = '\(token)'")
        try tab.follow("document.querySelector('form').submit()")
        try tab.close()
    }

    func stop() throws {
        try browser.stop()
        #expect(try dashboard.stop() == 0)
    }

    /// The page in a tab, with what the console reported while it was loaded. Each page is loaded once.
    func show(_ page: ShownPage) throws -> (tab: BrowserTab, faults: [String]) {
        if let shown = tabs[page.name] { return shown }
        let shown = try open(page.address)
        tabs[page.name] = shown
        return shown
    }

    /// Opens an address in a tab of its own.
    func open(_ path: String) throws -> (tab: BrowserTab, faults: [String]) {
        let tab = try BrowserTab(browser)
        return (tab, try tab.open(path.hasPrefix("http") ? path : address + path))
    }
}

/// Opens the gallery for the tests of a suite, and closes it after them.
struct GalleryTrait: SuiteTrait, TestScoping {
    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let gallery = try BrowserGallery()
        try await BrowserGallery.$current.withValue(gallery) { try await function() }
        try gallery.stop()
    }
}

extension Trait where Self == GalleryTrait {
    static var inBrowser: Self { Self() }
}
