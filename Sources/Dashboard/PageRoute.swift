import HTTPTypes
import Hummingbird
import Monitoring
import Reports

/// What an address of the dashboard is: every address that is read is one of these.
enum PageRoute: Equatable {
    case page(DashboardPage)
    case single(Single)
    /// A page about a dump, or with a format a file.
    case ofDump(OfDump, name: String, DumpFormat?)

    /// Pages that others lead to.
    enum Single: String, CaseIterable {
        case campaign, dumps, record, delivery

        /// Parameters beside those of every page.
        fileprivate var parameters: [String] {
            switch self {
            case .campaign, .dumps: []
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

    /// What `file` is below the address of a kind: a name, or with a format at its end a file. Nil for a format that the
    /// kind does not have.
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

    /// Adds every address that is read.
    ///
    /// - Parameter answer: nil for what is not there.
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

    /// Every page, and everything about each dump.
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

    /// Whether it is about the whole instance, so that a reader of some campaigns cannot see it.
    var isOfEverything: Bool {
        switch self {
        case .page(let page): page.isOfEverything
        case .single(let single): [.record, .delivery].contains(single)
        case .ofDump(let kind, _, _): [.changes, .evidence].contains(kind)
        }
    }

    /// Whether the answer is written while it is made.
    var isStreamed: Bool {
        guard case .ofDump(let kind, _, let format) = self else { return false }
        return format != nil || [.explain, .evidence].contains(kind)
    }

    /// Whether the log is read and all cores are used for the answer.
    var isExplanation: Bool {
        if case .ofDump(let kind, _, _) = self { return [.explain, .evidence].contains(kind) }
        return false
    }

    /// The parameters that mean something; nil where `PageQuery` decides.
    var parameters: [String]? {
        let shared = ["period", "since", "until"] + PageContext.filters
        return switch self {
        case .page(let page): shared + (page == .live ? ["topic", "refused"] : [])
        case .single(let single): shared + single.parameters
        case .ofDump: nil
        }
    }
}

/// A part of an answer that is written while it is made.
enum AnswerPart: Equatable, Sendable {
    /// Comes first, and once.
    case head(AnswerHead)
    case bytes([UInt8])
    /// The answer ends here and is not whole: the connection is cut.
    case cut
}

struct AnswerHead: Equatable, Sendable {
    var status = 200
    var contentType = "text/html; charset=utf-8"
    /// Under which it is saved; nil for what a browser shows.
    var fileName: String?
}

extension DumpFormat {
    /// The format that an address asks for by its ending; nil for a page.
    init?(path: String) {
        let name = path.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: "."),
            let format = DumpFormat(rawValue: String(name[name.index(after: dot)...])),
            format != .table
        else { return nil }
        self = format
    }

    /// Of an answer that has an error instead of rows.
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
