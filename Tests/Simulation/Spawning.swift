import Foundation

/// Keeps processes from being started while a mock broker goes away: a child has the broker's socket for
/// an instant, and the broker could not have its port back.
package enum Spawning {
    private static let turn = NSLock()

    /// Does one of both.
    package static func apart<Answer>(_ body: () throws -> Answer) rethrows -> Answer {
        try turn.withLock(body)
    }
}
