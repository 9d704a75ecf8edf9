import EventLog
import Foundation
import Wording

/// The environment variables that replace missing options.
package struct Environment {
    /// Means no archive, and no metrics.
    package static let off = "off"

    private let variables: [String: String]

    package init(_ variables: [String: String] = ProcessInfo.processInfo.environment) {
        self.variables = variables
    }

    /// A variable; nil if it is unset or empty.
    package subscript(name: String) -> String? {
        variables[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Whether a variable is set but empty, for example from the output of a failed command.
    package func isSetToNothing(_ name: String) -> Bool { variables[name]?.isEmpty == true }

    /// The data directories of the options, otherwise of `WEIR_DATA`, otherwise `data`.
    package func dataDirectories(_ options: [String]) -> [String] {
        if !options.isEmpty { return options }
        let listed = self["WEIR_DATA"]?.split(separator: ":").map(String.init) ?? []
        return listed.isEmpty ? ["data"] : listed
    }

    /// Address of the log: that of the option, otherwise of `WEIR_LOG`, otherwise in the first data directory.
    package func log(_ option: String?, dataDirectories: [String]) -> String {
        option ?? self["WEIR_LOG"] ?? "sqlite:\(dataDirectories.first ?? "data")/log.sqlite"
    }

    /// The file of an archive: that of the option, otherwise of `WEIR_ARCHIVE`; nil for none.
    package func archivePath(_ option: String?) throws(UsageError) -> String? {
        guard let text = option ?? self["WEIR_ARCHIVE"], text != Self.off else { return nil }
        guard case .sqlite(let path)? = try? LogAddress(text) else {
            throw UsageError(
                "--archive '\(LogAddress.masked(text))' is not an archive: write sqlite:PATH")
        }
        return path
    }

    /// Whether a flag is set: by its option, or by a variable of 1, true or yes.
    package func isSet(_ variable: String, option: Bool) throws(UsageError) -> Bool {
        guard !option, let word = self[variable] else { return option }
        switch word.lowercased() {
        case "1", "true", "yes": return true
        case "0", "false", "no": return false
        default: throw UsageError("\(variable) is '\(word)': write 1 or 0")
        }
    }

    /// A variable that is a whole number; nil if it is unset.
    package func count(_ variable: String) throws(UsageError) -> Int? {
        guard let text = self[variable] else { return nil }
        guard let number = Int(text) else {
            throw UsageError("\(variable) is '\(text)': write a whole number")
        }
        return number
    }

    /// The format of the output: the option, otherwise `WEIR_FORMAT`, otherwise the default.
    package func format<Format: RawRepresentable & CaseIterable>(
        _ option: String?, default byDefault: Format
    ) throws(UsageError) -> Format where Format.RawValue == String {
        guard let word = option ?? self["WEIR_FORMAT"] else { return byDefault }
        guard let format = Format(rawValue: word) else {
            let suggestion = UnknownName(word, valid: Format.allCases.map(\.rawValue))
            throw UsageError("no format '\(word)' here: \(suggestion)")
        }
        return format
    }
}
