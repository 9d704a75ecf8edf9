import Foundation
import Testing

@Suite("From zero to a first verified postback", .serialized, .timeLimit(.minutes(15)))
struct FirstPostbackTests {
    @Test(
        "every line of the page works as written, and answers what stands below it",
        arguments: [
            "docs/first-postback-network.md", "docs/first-postback-advertiser.md",
            "docs/first-postback-publisher.md", "README.md",
        ])
    func page(_ path: String) throws {
        let steps = try PageStep.steps(of: path)
        #expect(steps.contains { $0.command.contains("postback-4.0.json") })
        let place = try PagePlace()
        for step in steps {
            let expected = place.plain(step.output)
            let said = try place.run(step, until: expected)
            #expect(said == expected, "\(step.command)")
        }
        #expect(try place.stop("weir up") == 0)
    }
}
