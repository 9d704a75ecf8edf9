/// A text that is refused, and the words that say why.
package struct FaultCase: Sendable, CustomStringConvertible {
    package let text: String
    package let explanation: String

    package var description: String { explanation }

    /// The cases of a file of `Tests/Fixtures/faults`: a text, `=> ` with its words, and an empty line before the
    /// next text.
    package static func all(_ name: String) -> [FaultCase] {
        var cases: [FaultCase] = []
        var lines: [Substring] = []
        let file = (try? Repository.text("Tests/Fixtures/faults/\(name).txt")) ?? ""
        for line in file.split(separator: "\n", omittingEmptySubsequences: false) {
            guard line.hasPrefix("=> ") else {
                lines.append(line)
                continue
            }
            let text = lines.dropFirst(cases.isEmpty ? 0 : 1).joined(separator: "\n")
            cases.append(FaultCase(text: text, explanation: String(line.dropFirst(3))))
            lines = []
        }
        // Without a case no test would run, and none would fail.
        return cases.isEmpty ? [FaultCase(text: "", explanation: "\(name).txt is there")] : cases
    }
}
