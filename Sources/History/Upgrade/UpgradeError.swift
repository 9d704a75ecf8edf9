import Wording

/// Why stores are not upgraded, or the earlier ones not put back: fault, place and remedy.
package enum UpgradeError: OperatorError, Equatable, Sendable {
    case noStore(data: String)
    /// The store must be folded again, and its first records are gone.
    case recordsGone(
        store: String, reason: String, partition: Int32, first: Int64, earliest: Int64?)
    /// The new stores have other numbers.
    case differs(directory: String, lines: [String], configuration: [String])
    /// Another version must put the earlier stores in force.
    case cannotGoBack(data: String, detail: String)
    case nothingToRevert(data: String)
    /// The earlier stores are in force.
    case alreadyBack(data: String, inForce: [String], left: [String])
    /// The stores in force were promoted by another command.
    case notOfUpgrade(data: String, inForce: [String])
    /// Another process upgrades the data directory.
    case underWay(data: String, owner: String)
    case stopped

    package var description: String {
        switch self {
        case .noStore(let data):
            "no store in \(data): give the data directory of the workers with --data"
        case .recordsGone(let store, let reason, let partition, let first, let earliest):
            "\(store) must be folded again (\(reason)), and the log "
                + (earliest.map { "now begins partition \(partition) at offset \($0)" }
                    ?? "has no partition \(partition)")
                + ", after offset \(first) where the store begins: give --archive a copy that has these records, or keep the version of Weir that folded it"
        case .differs(let directory, let lines, let configuration):
            "the new stores in \(directory) have other numbers than those in force: \(lines.joined(separator: "; ")). "
                + Self.cause(configuration)
                + "Compare them with weir diff, then run again with --accept-differences, or delete \(directory); nothing has changed"
        case .cannotGoBack(let data, let detail):
            "this version would refuse to continue the earlier stores (\(detail)). Stop the workers, install the version that folded them, and run its \(Self.promote("--back", data)); nothing has changed"
        case .nothingToRevert(let data): "there was no upgrade of \(data) to go back from"
        case .alreadyBack(let data, let inForce, let left):
            "the earlier stores are in force again (\(inForce.joined(separator: ", "))). To return to the later ones, run \(left.map { Self.promote($0, data) }.joined(separator: " and ")); nothing has changed"
        case .notOfUpgrade(let data, let inForce):
            "the stores in force were not promoted by an upgrade (\(inForce.joined(separator: ", "))). To go back to the stores before them, run \(Self.promote("--back", data)); nothing has changed"
        case .underWay(let data, let owner):
            "another weir upgrade of \(data) is running\(owner): wait until it has ended, or stop it; nothing has changed"
        case .stopped: "stopped before the end: run the same command again to continue"
        }
    }

    private static func promote(_ target: String, _ data: String) -> String {
        ShellWords.text(["weir", "promote", target, "--data", data])
    }

    /// The likely cause of other numbers, as a sentence.
    private static func cause(_ changes: [String]) -> String {
        guard !changes.isEmpty else { return "" }
        return
            "The likely cause is the configuration, which has changed since the records were folded (\(changes.joined(separator: "; "))): restore it and run again. "
    }
}
