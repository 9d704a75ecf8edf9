import Reports

extension Comparison {
    /// Whether all that counts was folded under the window of the present file.
    func isUnderOneWindow() throws -> Bool {
        let (folded, windows) = try furthest()
        return folded.allSatisfy { number, range in
            windows[number]?.isOnly(feed.windowSeconds, before: range.upperBound) ?? true
        }
    }

    /// - Parameter other: a directory in which all of it was folded once more, as `how` says.
    func compareDigest(with other: String, _ how: String) throws {
        let digests = (try stores.digest(), try OpenStores(directories: [other]).digest())
        guard digests.0 == digests.1 else {
            throw SimulationFault("\(stream): another digest than that of \(how)")
        }
    }
}
