import Reports

/// The pages of the navigation.
enum DashboardPage: String, CaseIterable {
    case overview, campaigns, cohorts, subscriptions, publisher
    case postbacks, warnings, records
    case partners, streams, live, actions, reports

    /// The groups of the navigation, in the order of a typical day.
    static let groups: [(name: String, pages: [DashboardPage])] = [
        ("Results", [.overview, .campaigns, .cohorts, .subscriptions, .publisher]),
        ("Data", [.postbacks, .warnings, .records]),
        ("Operation", [.partners, .streams, .live, .actions, .reports]),
    ]

    var path: String { self == .overview ? "/" : "/\(rawValue)" }

    /// The page at a path; nil for any other path.
    static func at(_ path: String) -> DashboardPage? { allCases.first { $0.path == path } }

    var title: String {
        self == .reports
            ? "All reports" : rawValue.prefix(1).uppercased() + rawValue.dropFirst()
    }

    /// Whether its usual days end with the newest one, which may not be over.
    var includesRunningDay: Bool { [.records, .streams].contains(self) }

    /// Whether it shows the whole instance, so that readers of some campaigns cannot see it.
    var isOfEverything: Bool {
        [.warnings, .records, .partners, .streams, .live, .actions].contains(self)
    }

    /// Whether its content depends on the chosen days.
    var isOfDays: Bool { ![.warnings, .partners, .live, .actions, .reports].contains(self) }

    /// Whether numbers of its days are missing where streams were silent. Streams and records say so themselves.
    var needsRecords: Bool { isOfDays && ![.streams, .records].contains(self) }

    /// Whether its content is compared with other days.
    var isCompared: Bool { [.overview, .campaigns, .subscriptions, .publisher].contains(self) }

    /// Parameters in addition to those of every page.
    var parameters: [String] {
        switch self {
        case .campaigns: ["sort", "columns"]
        case .cohorts: ["show", "buyers"]
        case .subscriptions: ["show"]
        case .publisher: ["sort"]
        case .live: ["topic", "refused", PageContext.paused]
        case .postbacks: ["copies", "rows"]
        case .partners: ["partner", "state"]
        case .actions: ["id"]
        default: []
        }
    }
}

extension PageWriter {
    mutating func write(_ page: DashboardPage) throws {
        switch page {
        case .overview: try writeOverview()
        case .campaigns: try writeCampaigns()
        case .cohorts: try writeCohorts()
        case .subscriptions: try writeSubscriptions()
        case .publisher: try writePublisher()
        case .postbacks: try writePostbacks()
        case .warnings: try writeWarnings()
        case .records: try writeRecords()
        case .partners: try writePartners()
        case .streams: try writeOperation()
        case .live: try writeLive()
        case .actions: try writeActions()
        case .reports: writeReports()
        }
    }
}
