import TestKit
import Testing

@Suite("Corpora of the fuzzing targets")
struct CorpusTests {
    @Test("hold what each target says has to hold", arguments: fuzzTargets)
    func corpus(_ target: FuzzTarget) throws {
        let corpus = try target.corpus()
        #expect(corpus.count > 3, "too little to begin with")
        let run = try target.make()
        for input in corpus + [[]] {
            do { try run(input) } catch {
                Issue.record("\(error): \(String(decoding: input.prefix(2000), as: UTF8.self))")
            }
        }
    }
}

extension FuzzTarget: CustomTestStringConvertible {
    var testDescription: String { name }
}
