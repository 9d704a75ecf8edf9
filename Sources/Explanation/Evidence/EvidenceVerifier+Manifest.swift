extension EvidenceVerifier {
    /// Checks what the manifest says of the parts: counts, marks and logs.
    mutating func checkManifest(
        _ records: [EvidenceRecord], _ rows: [EvidenceRow],
        _ configurations: [EvidenceConfiguration]
    ) {
        let counted = Int64(records.count { $0.leftOut == nil })
        let leftOut = Int64(records.count) - counted
        let claimed = Int128(manifest.leftOut) + Int128(manifest.untold)
        var faults: [String] = []
        if counted != manifest.counted || Int128(leftOut) != claimed {
            faults.append("the manifest says \(manifest.counted) and \(claimed)")
        }
        let masked = records.count { $0.masked == true }
        if manifest.masked != Int64(masked) {
            faults.append("\(masked) are masked, the manifest says \(manifest.masked)")
        }
        let addsUp = checks.allSatisfy { !["aggregate", "number"].contains($0.name) || $0.holds }
        if manifest.addsUp != addsUp {
            faults.append(
                "they \(addsUp ? "add up" : "do not add up"), the manifest says something else")
        }
        let streams = Set(rows.map(\.stream) + records.map(\.stream))
        let topics = Set(
            (records.map { [$0.stream, $0.topic] } + configurations.map { [$0.stream, $0.topic] }))
        if Set(manifest.logs.map(\.stream)) != streams
            || !topics.isSubset(of: manifest.logs.map { [$0.stream, $0.topic] })
        {
            faults.append("they are of other logs than the manifest says")
        }
        note(
            "records", faults.isEmpty,
            (["\(counted) records count and \(leftOut) were left out"] + faults)
                .joined(separator: ", "))
    }
}
