import CSimulatedSystem

/// One way in which a run is disturbed. The other kinds of faults are chances, or settings of the whole run.
struct Disturbance: Sendable {
    let kind: FaultKind
    /// Whether the run has something that it can be done to. Draws nothing.
    let isEnabled: @Sendable (Simulation) -> Bool
    /// Does it, and returns whether anything came of it.
    let apply: @Sendable (Simulation) throws -> Bool

    init(
        _ kind: FaultKind, when isEnabled: @escaping @Sendable (Simulation) -> Bool = { _ in true },
        apply: @escaping @Sendable (Simulation) throws -> Bool
    ) {
        self.kind = kind
        self.isEnabled = isEnabled
        self.apply = apply
    }

    private static let all = Dictionary(
        uniqueKeysWithValues: (ofProcesses + ofTopics + ofStores + ofPartners + ofSnapshots + [
            clockJump
        ])
        .map { ($0.kind, $0) })

    private static let clockJump = Disturbance(.clockJump) { run in
        let nanoseconds = Int64(run.number(below: 7_200)) * 1_000_000_000
        weir_sim_jump(run.chance(1, in: 2) ? nanoseconds : -nanoseconds)
        run.partners.endPauses()
        return true
    }

    static func of(_ kind: FaultKind) -> Disturbance? { all[kind] }
}

extension Simulation {
    func disturb() throws {
        guard var kind = one(of: FaultKind.allCases.filter(kinds.contains)) else { return }
        // It takes several: a replay, and then what is done with it.
        if kinds.contains(.promotion), chance(1, in: 5) { kind = .promotion }
        guard let disturbance = Disturbance.of(kind), disturbance.isEnabled(self),
            try disturbance.apply(self)
        else { return }
        meet(kind)
    }
}
