import Foundation

/// What the options of the command line fall back to.
struct Environment {
    private let variables: [String: String]

    /// Takes variables; by default those of the process.
    init(_ variables: [String: String] = ProcessInfo.processInfo.environment) {
        self.variables = variables
    }

    /// A variable; nil when it is not set, or empty.
    subscript(name: String) -> String? {
        variables[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The data directories: those of the options, else of `WEIR_DATA`, else `data`.
    func dataDirectories(_ options: [String]) -> [String] {
        if !options.isEmpty { return options }
        let listed = self["WEIR_DATA"]?.split(separator: ":").map(String.init) ?? []
        return listed.isEmpty ? ["data"] : listed
    }

    /// Address of the log: that of the option, else of `WEIR_LOG`, else in the first data directory.
    func log(_ option: String?, dataDirectories: [String]) -> String {
        option ?? self["WEIR_LOG"] ?? "sqlite:\(dataDirectories.first ?? "data")/log.sqlite"
    }

    /// The directory of the configuration.
    func pipelines(_ option: String?) -> String {
        option ?? self["WEIR_PIPELINES"] ?? "pipelines"
    }

    /// The directory of the descriptions of topics.
    func topics(_ option: String?) -> String {
        option ?? self["WEIR_TOPICS"] ?? "topics"
    }

    /// Whether a variable says yes; false when it is not set.
    func flag(_ name: String) throws(CommandError) -> Bool {
        switch self[name] {
        case "1", "true", "yes": true
        case nil, "0", "false", "no": false
        case let word?: throw .usage("\(name) is '\(word)': write true or false")
        }
    }

    /// The format of the output: the option, else `WEIR_FORMAT`, else the default.
    func format<Format: RawRepresentable & CaseIterable>(
        _ option: String?, default byDefault: Format
    ) throws(CommandError) -> Format where Format.RawValue == String {
        guard let word = option ?? self["WEIR_FORMAT"] else { return byDefault }
        guard let format = Format(rawValue: word) else {
            let known = Format.allCases.map(\.rawValue).joined(separator: ", ")
            throw .usage("no format '\(word)' here: there are \(known)")
        }
        return format
    }
}
