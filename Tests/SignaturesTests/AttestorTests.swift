import Signatures
import Testing

@Suite("Batches of postbacks")
struct AttestorTests {
    private static let count = 203

    /// Postbacks of every verdict and curve in a fixed pattern, in one arena.
    private static func batch(
        _ keys: (p192: SigningKey, p256: SigningKey)
    ) throws -> (requests: [AttestationRequest], arena: [UInt8], verdicts: [Verdict]) {
        let valid = try Postback(version: "3.0").signed(by: keys.p256)
        let old = try Postback(version: "2.0").signed(by: keys.p192)
        var altered = valid
        altered.appID += 1
        let kinds: [(Postback, Verdict)] = [
            (valid, .valid), (old, .valid), (altered, .invalid),
            (Postback(version: "9.9"), .unverifiable), (Postback(version: "4.0"), .invalid),
        ]
        var arena: [UInt8] = []
        let requests = (0..<count).map { kinds[$0 % kinds.count].0.request(arena: &arena) }
        return (requests, arena, (0..<count).map { kinds[$0 % kinds.count].1 })
    }

    @Test("results are the same for any number of threads, and for any order")
    func threadsAndOrder() throws {
        let signers = (p192: try SigningKey.p192(), p256: SigningKey.p256())
        let keys = try TrustedKeys(production: [signers.p192.publicKey, signers.p256.publicKey])
        let (requests, arena, verdicts) = try Self.batch(signers)
        for threadCount in [-1, 1, 2, 7] {
            let attestor = Attestor(keys: keys, threadCount: threadCount)
            let results = attestor.begin(requests, bytes: arena).finish()
            #expect(results.map(\.verdict) == verdicts)
            let order = Array(requests.indices).shuffled()
            let shuffled = attestor.begin(order.map { requests[$0] }, bytes: arena).finish()
            #expect(shuffled.map(\.verdict) == order.map { verdicts[$0] })
        }
    }

    @Test("several batches may be under way at once, and one may be dropped")
    func overlappingBatches() throws {
        let signers = (p192: try SigningKey.p192(), p256: SigningKey.p256())
        let keys = try TrustedKeys(production: [signers.p192.publicKey, signers.p256.publicKey])
        let (requests, arena, verdicts) = try Self.batch(signers)
        for threadCount in [1, 2] {
            let attestor = Attestor(keys: keys, threadCount: threadCount)
            _ = attestor.begin(requests, bytes: arena)
            let first = attestor.begin(requests, bytes: arena)
            let second = attestor.begin(requests.reversed(), bytes: arena)
            #expect(second.finish().map(\.verdict) == verdicts.reversed())
            #expect(first.finish().map(\.verdict) == verdicts)
        }
    }

    @Test("the caller may reuse its arena while a batch is under way")
    func reusedArena() throws {
        let signers = (p192: try SigningKey.p192(), p256: SigningKey.p256())
        let keys = try TrustedKeys(production: [signers.p192.publicKey, signers.p256.publicKey])
        var (requests, arena, verdicts) = try Self.batch(signers)
        let pending = Attestor(keys: keys, threadCount: 2).begin(requests, bytes: arena)
        for index in arena.indices { arena[index] = 0 }
        requests.removeAll()
        #expect(pending.finish().map(\.verdict) == verdicts)
    }

    @Test("an empty batch has no results")
    func emptyBatch() throws {
        let attestor = Attestor(keys: try TrustedKeys(), threadCount: 2)
        #expect(attestor.begin([], bytes: []).finish().isEmpty)
    }

    @Test("a verdict is worth more the closer it is to Apple's production")
    func ranks() {
        #expect(Verdict.allCases.map(\.rank) == [2, 1, 0, 0])
        #expect(
            Verdict.allCases.map(\.name) == ["valid", "development", "invalid", "unverifiable"])
    }
}
