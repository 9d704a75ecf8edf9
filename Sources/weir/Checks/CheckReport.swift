import Pipelines

/// What was checked, in words: what is right, and what is wrong.
struct CheckReport {
    /// A line of the report.
    enum Finding: Equatable {
        case right(String)
        case wrong(String)
        /// Allowed, and probably not what was meant.
        case doubtful(String)
    }

    private(set) var findings: [Finding] = []

    /// Number of things that are wrong.
    var wrongCount: Int { findings.count { if case .wrong = $0 { true } else { false } } }

    /// The lines, with their ends.
    var text: String {
        findings.map { finding in
            switch finding {
            case .right(let words): "ok: \(words.withoutControls)\n"
            case .wrong(let words): "wrong: \(words.withoutControls)\n"
            case .doubtful(let words): "warning: \(words.withoutControls)\n"
            }
        }.joined()
    }

    mutating func note(right words: String) { findings.append(.right(words)) }

    mutating func note(doubtful words: String) { findings.append(.doubtful(words)) }

    /// What several programs would say is said once.
    mutating func note(wrong words: String) {
        guard !findings.contains(.wrong(words)) else { return }
        findings.append(.wrong(words))
    }
}
