import CSimulatedSystem

// What may fail at any call, until the chances are drawn again.

extension Simulation {
    func drawChancesOfDisk() -> weir_sim_chances {
        var chances = weir_sim_chances()
        func draw(_ kind: FaultKind, _ most: Int) -> UInt32 {
            guard kinds.contains(kind), chance(1, in: 3) else { return 0 }
            meet(kind)
            return UInt32(number(below: most))
        }
        chances.write_error = draw(.writeError, 20_000)
        chances.disk_full = draw(.diskFull, 20_000)
        chances.sync_error = draw(.syncError, 50_000)
        chances.read_error = draw(.readError, 5000)
        chances.short_read = draw(.shortReadsAndWrites, 100_000)
        chances.short_write = draw(.shortReadsAndWrites, 100_000)
        return chances
    }

    func drawChancesOfLog() {
        func draw(_ kind: FaultKind, _ most: Int) -> UInt64 {
            guard kinds.contains(kind), chance(1, in: 2) else { return 0 }
            meet(kind)
            return UInt64(number(below: most))
        }
        cluster.chances = SimulatedCluster.Chances(
            unavailable: draw(.unavailableLog, 50_000), slow: draw(.slowLog, 300_000),
            lostAnswer: draw(.lostAnswer, 200_000), repeated: draw(.repeatedAppend, 100_000),
            notTaken: draw(.offsetsNotTaken, 500_000))
        if kinds.contains(.leaderAway), chance(1, in: 4) {
            meet(.leaderAway)
            cluster.appendsToRefuse = number(below: 100)
        }
        guard !deliverers.isEmpty else { return }
        partners.chances = SimulatedPartners.Chances(
            away: draw(.partnerAway, 600_000), lostAnswer: draw(.partnerLostAnswer, 300_000),
            busy: draw(.partnerBusy, 300_000), refuses: draw(.partnerRefuses, 300_000),
            shut: draw(.partnerShut, 100_000), late: draw(.partnerLate, 500_000))
    }
}
