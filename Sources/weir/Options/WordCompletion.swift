import ArgumentParser
import Reports

/// What a shell offers when a user completes a word: the scripts of `weir --generate-completion-script` ask for it.
enum WordCompletion {
    static let dumps = CompletionKind.list(reportNames())
    static let profiles = CompletionKind.list(ExportProfile.allCases.map(\.rawValue))
    static let topics = CompletionKind.custom { _, _, _ in
        let topics = try? TopicsOptions.parse([]).directory.topics()
        return topics?.map(\.name) ?? []
    }

    /// Columns of the dump that the command line names.
    static let columns = CompletionKind.custom { words, _, word in
        list(continuing: word, with: report(in: words)?.columnNames ?? [])
    }
    /// Measures of that dump.
    static let measures = CompletionKind.custom { words, _, word in
        list(continuing: word, with: report(in: words)?.measureNames ?? [])
    }
    static let columnsAndMeasures = CompletionKind.custom { words, _, word in
        let report = report(in: words)
        return list(
            continuing: word, with: (report?.columnNames ?? []) + (report?.measureNames ?? []))
    }

    private static func report(in words: [String]) -> (any Reports.Report)? {
        let reports: [any Reports.Report] = allReports + DumpDescription.all
        return words.lazy.compactMap { word in reports.first { $0.name == word } }.first
    }

    /// The names that can follow in a list such as `seat,camp`: each with the start of the list, and without those
    /// that are in it already.
    private static func list(continuing word: String, with names: [String]) -> [String] {
        let written = word.split(separator: ",", omittingEmptySubsequences: false).dropLast()
        let start = written.map { $0 + "," }.joined()
        return names.filter { !written.contains(Substring($0)) }.map { start + $0 }
    }
}
