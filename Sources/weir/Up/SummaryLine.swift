/// How `weir up` is, in one line.
struct SummaryLine {
    /// Names of the parts that failed.
    var failed: [String] = []
    /// What each stream has folded and has left to fold, in the order in which they are shown.
    var streams: [(name: String, folded: Int64, left: Int64)] = []
    /// What became of the documents for partners.
    var deliveries: [(state: String, count: Int)] = []
    /// Why nothing of that is known; nil when it is.
    var fault: String?

    /// The line with whole numbers.
    var text: String {
        line(
            streams: { name, folded, left in
                left > 0 ? "\(name) \(folded) (+\(left))" : "\(name) \(folded)"
            }, count: { "\($0)" }
        )
        .joined(separator: "  ")
    }

    /// The line with short numbers, and of so many characters at most: what there is no room for is
    /// left out at its end.
    func text(columns: Int) -> String {
        let parts = line(
            streams: { name, folded, left in
                let name = Self.shortNames[name] ?? name
                let behind = left > 0 ? " (+\(Self.short(left)))" : ""
                return "\(name) \(Self.short(folded))\(behind)"
            }, count: { Self.short(Int64($0)) })
        let whole = parts.joined(separator: "  ")
        guard whole.count > columns else { return whole }
        return whole.prefix(max(columns - 1, 0)) + "…"
    }

    private func line(
        streams stream: (String, Int64, Int64) -> String, count: (Int) -> String
    ) -> [String] {
        let parts =
            failed.map { "FAILED \($0)" } + (fault.map { [$0] } ?? [])
            + streams.map { stream($0.name, $0.folded, $0.left) }
            + deliveries.map { "\($0.state) \(count($0.count))" }
        return parts.isEmpty ? ["nothing has come in yet"] : parts
    }

    private static let shortNames = [
        "overlay-clicks": "clicks", "store-notifications": "notifications",
        "conversion-updates": "updates",
    ]

    /// At most five characters: 9999, 12.3k, 999k, 1.23M.
    static func short(_ number: Int64) -> String {
        guard number >= 10_000 else { return "\(number)" }
        var scaled = Double(number)
        var unit = ""
        for next in ["k", "M", "G", "T", "P"] where scaled >= 1000 {
            scaled /= 1000
            unit = next
        }
        let places = scaled < 10 ? 2 : scaled < 100 ? 1 : 0
        let factor = [1.0, 10, 100][places]
        // Cut off, so that nothing is counted before it is there.
        let cut = (scaled * factor).rounded(.down) / factor
        return places == 0 ? "\(Int(cut))\(unit)" : "\(cut)\(unit)"
    }
}
