import ConfigurationFiles
import ConfigurationValues
import EventLog
import Foundation
import Program
import Store
import Streams
import Wording

/// Retries deliveries for a command or a page.
package struct DeliveryRetry {
    /// The number of known deliveries that an error lists.
    private static let namedCount = 3

    private let selection: DeliverySelection
    private let stores: [DeliveryStore]
    private let directories: [String]
    private let pipelines: PipelineDirectory

    /// - Parameter stores: those of the data directories.
    package init(
        _ selection: DeliverySelection, in stores: [DeliveryStore], of directories: [String],
        _ pipelines: PipelineDirectory
    ) {
        self.selection = selection
        self.stores = stores
        self.directories = directories
        self.pipelines = pipelines
    }

    /// Throws if the selection has nothing to retry.
    package func check() throws {
        switch selection {
        case .id(let id): try checkID(id)
        case .partner(let name):
            try checkFile(of: name, partnersWithoutFile())
            try pipelines.checkPartner(name, in: stores)
        case .allDead: break
        }
    }

    /// The open deliveries of the selection, most recently changed first.
    ///
    /// - Parameter limit: of each store and state.
    package func deliveries(limit: Int) throws -> [Delivery] {
        switch selection {
        case .id(let id):
            try stores.flatMap { try $0.history(of: id) }.map(\.delivery).filter(\.isOpen)
        case .partner(let name):
            try [DeliveryState.pending, .held, .dead].flatMap {
                try stores.latest(limit, partner: name, state: $0)
            }
        case .allDead: try stores.latest(limit, state: .dead)
        }
    }

    /// Retries the deliveries, records it in the operator's log, and returns the result in lines.
    ///
    /// - Parameter id: of the action. If the operator's log has it already, nothing is done and there are no lines.
    package func run(by user: Operator, id: String = UUID().uuidString) throws -> [String] {
        var lines: [String] = []
        try OperatorLog(directories: directories).record(
            .retry, of: selection.words, by: user, id: id
        ) {
            lines = try retry()
            return lines.joined(separator: "; ")
        }
        return lines
    }

    private func retry() throws -> [String] {
        let unknown = try partnersWithoutFile()
        let now = WallClock.milliseconds
        let retried = try stores.reduce(RetriedDeliveries()) { sum, store in
            let left =
                selection == .allDead
                ? try unknown + store.disabledPartners().map(\.name) : []
            return sum.adding(try store.retry(selection, leaving: left, nowMilliseconds: now))
        }
        return try lines(retried) + (selection == .allDead ? linesOfLeft(unknown) : [])
    }

    /// Partners with deliveries but without a file with a url; empty without a configuration.
    private func partnersWithoutFile() throws -> [String] {
        guard pipelines.exists else { return [] }
        let valid = Set(try pipelines.partners().filter { !$0.delivery.isOff }.map(\.name))
        let found = try stores.flatMap { try $0.storedPartners() }
        return Set(found).subtracting(valid).sorted()
    }

    /// Lines about partners with dead deliveries that are left unchanged.
    private func linesOfLeft(_ unknown: [String]) throws -> [String] {
        let dead = Set(
            try stores.flatMap { try $0.counts() }.filter { $0.state == .dead }.map(\.partner))
        let disabled = try stores.flatMap { try $0.disabledPartners() }
        return dead.sorted().compactMap { name in
            if unknown.contains(name) { return "skipped \(name): \(withoutFile(name))" }
            guard let disabled = disabled.first(where: { $0.name == name }) else { return nil }
            return
                "skipped \(name): it \(disabled.explanation); see weir deliveries retry --partner \(name)"
        }
    }

    private func withoutFile(_ partner: String) -> String {
        "there is no file \(pipelines.path)/partners/\(partner).yaml with a url"
    }

    private func checkFile(of partner: String, _ unknown: [String]) throws {
        guard unknown.contains(partner) else { return }
        throw CommandError.failure(
            "\(withoutFile(partner)), so its deliveries were skipped. Restore the file; a running weir-partner-postbacks reads it at once"
        )
    }

    private func lines(_ retried: RetriedDeliveries) throws -> [String] {
        var lines = ["\(retried.retried) to be sent now, \(retried.left) unchanged"]
        if case .partner(let name) = selection, retried.retried + retried.left == 0 {
            lines = ["\(name) has no pending, dead or held deliveries"]
        }
        lines += retried.enabled.map { "\($0) is enabled again" }
        lines += retried.awakened.map { "\($0) is tried again at once" }
        guard case .id(let id) = selection else { return lines }
        for store in stores {
            let named = Set(try store.history(of: id).map(\.delivery.partner))
            lines += try store.disabledPartners().filter { named.contains($0.name) }.map {
                "\($0.name) \($0.explanation): see weir deliveries retry --partner \($0.name)"
            }
        }
        return lines
    }

    private func checkID(_ id: String) throws {
        let found = try stores.flatMap { try $0.history(of: id) }.map(\.delivery)
        guard !found.isEmpty else {
            let last = try stores.latest(Self.namedCount).prefix(Self.namedCount).map(\.id)
            let valid =
                last.isEmpty
                ? "there are no deliveries" : "the last are \(last.joined(separator: ", "))"
            throw CommandError.failure(
                "no delivery of '\(id)' in \(directories.joined(separator: ", ")): \(valid); see weir deliveries list"
            )
        }
        guard found.contains(where: { $0.isOpen && !$0.partner.isEmpty }) else {
            let states = found.map { "revision \($0.revision) is \($0.state.rawValue)" }
            throw CommandError.failure(
                "'\(id)' has no delivery to retry: \(states.joined(separator: ", "))")
        }
        let unknown = try partnersWithoutFile()
        for partner in found.map(\.partner) { try checkFile(of: partner, unknown) }
    }
}

extension Delivery {
    /// Whether it can be retried.
    package var isOpen: Bool { state != .delivered && state != .superseded }
}

extension DeliverySelection {
    /// As in the operator's log.
    fileprivate var words: String {
        switch self {
        case .id(let id): "delivery \(id)"
        case .partner(let name): "partner \(name)"
        case .allDead: "all dead deliveries"
        }
    }
}

extension [DeliveryStore] {
    /// The most recently changed deliveries, at most `limit` per store.
    package func latest(
        _ limit: Int, partner: String? = nil, state: DeliveryState? = nil
    ) throws -> [Delivery] {
        try flatMap { try $0.deliveries(partner: partner, state: state, limit: limit) }
            .sorted { $0.changedMilliseconds > $1.changedMilliseconds }
    }
}

extension PipelineDirectory {
    /// Throws if a partner does not have a file or deliveries.
    package func checkPartner(_ name: String, in stores: [DeliveryStore]) throws {
        var valid = Set(try stores.flatMap { try $0.storedPartners() })
        guard !valid.contains(name) else { return }
        if exists { valid.formUnion(try partners().map(\.name)) }
        guard !valid.contains(name) else { return }
        throw CommandError.failure(
            "no partner '\(name)': \(UnknownName(name, valid: valid.sorted()))")
    }
}
