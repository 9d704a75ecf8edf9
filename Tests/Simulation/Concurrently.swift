import Foundation

/// Runs work on so many threads, and waits for all of it.
package func concurrently(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let group = DispatchGroup()
    for number in 0..<count {
        group.enter()
        Thread.detachNewThread {
            body(number)
            group.leave()
        }
    }
    group.wait()
}
