import Program
import Store
import Streams
import Wording

extension Upgrade {
    /// Puts the stores of before the last upgrade in force again. Nothing changes unless this version can continue all
    /// of them.
    package func back(
        stop: StopSignal, tell: (String) -> Void = { _ in },
        onStep: (PromotionStep) throws -> Void = { _ in }
    ) throws -> [PromotedStream] {
        let lock = try lock()
        defer { withExtendedLifetime(lock) {} }
        let sets = try PromotionJournal(settledIn: order.data)
        guard let last = sets.promotions.last else {
            throw UpgradeError.nothingToRevert(data: order.data)
        }
        func directories(_ side: (StorePromotion.Move) -> String) -> [String] {
            Set(last.streams.values.map { sets.resolve(side($0)) }).sorted()
        }
        guard !sets.isBack else {
            throw UpgradeError.alreadyBack(
                data: order.data, inForce: directories(\.to), left: directories(\.from))
        }
        guard sets.isOfUpgrade else {
            throw UpgradeError.notOfUpgrade(data: order.data, inForce: directories(\.to))
        }
        for (stream, move) in last.streams.sorted(by: { $0.key < $1.key }) {
            let path = "\(sets.resolve(move.from))/\(stream).sqlite"
            if let obstacle = try Streams.stream(named: stream)?.obstacle(toContinue: path) {
                throw UpgradeError.cannotGoBack(data: order.data, detail: obstacle)
            }
        }
        let promotion = try Promotion(
            PromotionOrder(
                data: order.data, target: .back, source: order.source,
                threadCount: order.threadCount, patienceSeconds: order.patienceSeconds))
        do {
            return try promotion.run(stop: stop, tell: tell, onStep: onStep)
        } catch let error as RecordedConfigurationFault {
            throw UpgradeError.cannotGoBack(data: order.data, detail: "\(error)")
        }
    }
}
