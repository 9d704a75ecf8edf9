import AggregateStore

extension StoredPostbackCopy {
    /// Whether the developer's endpoint got it; all others are the network's, first hand or relayed.
    var isDeveloperCopy: Bool { route == "developer-copy" }

    /// Valid above development above all others.
    var rank: Int {
        switch verdict {
        case "valid": 2
        case "development": 1
        default: 0
        }
    }

    func isTrusted(_ trustsDevelopment: Bool) -> Bool {
        rank == 2 || (rank == 1 && trustsDevelopment)
    }

    func isOfSamePostback(as other: StoredPostbackCopy) -> Bool {
        partition == other.partition && id == other.id
    }

    /// Whether what Apple does not sign is the same in both.
    func hasValues(of other: StoredPostbackCopy) -> Bool {
        conversionValue == other.conversionValue && coarseValue == other.coarseValue
            && StoredValue.text(country ?? "") == .text(other.country ?? "")
    }

    /// What Apple does not sign, for people: `fine 20 US`, `coarse low`, `null`.
    var valueWords: String {
        let value =
            conversionValue.map { "fine \($0)" } ?? coarseValue.map { "coarse \($0)" } ?? "null"
        return country.map { $0.isEmpty ? value : "\(value) \($0)" } ?? value
    }
}
