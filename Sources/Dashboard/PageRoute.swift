import HTTPTypes
import Hummingbird
import Monitoring
import Reports

/// A route of the dashboard. Every address that is served has one.
enum PageRoute: Equatable {
    case page(DashboardPage)
    case single(Single)
    /// A page about a dump, or a file if there is a format.
    case ofDump(OfDump, name: String, DumpFormat?)

    /// Pages without a dump that other pages link to.
    enum Single: String, CaseIterable {
        case campaign, compare, record, delivery

        /// Parameters in addition to those of every page.
        fileprivate var parameters: [String] {
            switch self {
            case .campaign, .compare: []
            case .record: ["topic", "partition", "offset"]
            case .delivery: ["id"]
            }
        }
    }

    enum OfDump: String, CaseIterable {
        case dump, changes, explain, evidence

        /// The formats of its files.
        var formats: [DumpFormat] { self == .evidence ? [] : [.csv, .json, .ndjson] }
    }

    /// Parses `file`, the part of an address after the kind: a name, for a file with the format as its extension. Nil
    /// for a format that the kind does not have.
    init?(_ kind: OfDump, file: String) {
        guard let dot = file.lastIndex(of: ".") else {
            self = .ofDump(kind, name: file, nil)
            return
        }
        guard let format = DumpFormat(rawValue: String(file[file.index(after: dot)...])),
            kind.formats.contains(format)
        else { return nil }
        self = .ofDump(kind, name: String(file[..<dot]), format)
    }

    /// Adds every address that is served.
    ///
    /// - Parameter answer: receives nil for an unknown address.
    static func add(
        to router: Router<ServedContext>,
        _ answer: @escaping @Sendable (PageRoute?, Request, ServedContext) async throws -> Response
    ) {
        let pages =
            DashboardPage.allCases.map(PageRoute.page) + Single.allCases.map(PageRoute.single)
        for method in [HTTPRequest.Method.get, .head] {
            for page in pages {
                router.on(RouterPath(page.path), method: method) { request, context in
                    try await answer(page, request, context)
                }
            }
            for kind in OfDump.allCases {
                router.on("\(kind.rawValue)/{file}", method: method) { request, context in
                    let route = PageRoute(kind, file: try context.parameters.require("file"))
                    return try await answer(route, request, context)
                }
            }
        }
    }

    var path: String {
        switch self {
        case .page(let page): page.path
        case .single(let single): "/\(single.rawValue)"
        case .ofDump(let kind, let name, let format):
            "/\(kind.rawValue)/\(name)" + (format.map { ".\($0.rawValue)" } ?? "")
        }
    }

    /// Every page, and all routes of each dump.
    static var all: [PageRoute] {
        return DashboardPage.allCases.map(PageRoute.page) + Single.allCases.map(PageRoute.single)
            + OfDump.allCases.flatMap { kind in
                reportNames().flatMap { name in
                    ([nil] + kind.formats.map(Optional.some)).map {
                        PageRoute.ofDump(kind, name: name, $0)
                    }
                }
            }
    }

    /// Whether it shows the whole instance, so that readers of some campaigns cannot see it.
    var isOfEverything: Bool {
        switch self {
        case .page(let page): page.isOfEverything
        case .single(let single): [.record, .delivery].contains(single)
        case .ofDump(let kind, _, _): [.changes, .evidence].contains(kind)
        }
    }

    /// Whether the answer is streamed.
    var isStreamed: Bool {
        guard case .ofDump(let kind, _, let format) = self else { return false }
        return format != nil || [.explain, .evidence].contains(kind)
    }

    /// Whether the answer reads the log and uses all cores.
    var isExplanation: Bool {
        if case .ofDump(let kind, _, _) = self { return [.explain, .evidence].contains(kind) }
        return false
    }

    /// The name of the report that it is about; nil for another page.
    var report: String? {
        if case .ofDump(_, let name, _) = self { name } else { nil }
    }

    /// Whether it also takes the parameters of checked campaigns.
    var takesPicks: Bool { self == .single(.compare) }

    /// The valid parameters; nil when `ReportAddress` decides.
    var parameters: [String]? {
        switch self {
        case .page(let page): PageContext.shared + page.parameters
        case .single(let single): PageContext.shared + single.parameters
        case .ofDump: nil
        }
    }
}

/// A part of a streamed answer.
enum AnswerPart: Equatable, Sendable {
    /// Comes first, and once.
    case head(AnswerHead)
    case bytes([UInt8])
    /// The answer ends here incomplete: close the connection.
    case cut
}

struct AnswerHead: Equatable, Sendable {
    var status = 200
    var contentType = "text/html; charset=utf-8"
    /// The name for saving; nil for content that a browser shows.
    var fileName: String?
}

extension DumpFormat {
    /// The format in the extension of an address; nil for a page.
    init?(path: String) {
        let name = path.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: "."),
            let format = DumpFormat(rawValue: String(name[name.index(after: dot)...])),
            format != .table
        else { return nil }
        self = format
    }

    /// The content type of an error in place of rows.
    var errorContentType: String {
        self == .csv ? DumpFormat.table.contentType : contentType
    }

    var contentType: String {
        switch self {
        case .csv: "text/csv; charset=utf-8"
        case .json: "application/json"
        case .ndjson: "application/x-ndjson"
        case .table: "text/plain; charset=utf-8"
        }
    }
}
