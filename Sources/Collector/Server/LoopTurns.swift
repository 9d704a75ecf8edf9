import NIOCore
import Synchronization

/// Gives the connections of one event loop turns, one request each, and sees to it that the loop looks at its
/// sockets in between: as long as tasks make tasks, it does not, and nobody else is heard.
///
/// `@unchecked Sendable`: everything but making it happens on its loop.
final class LoopTurns: @unchecked Sendable {
    /// How long turns are given before the sockets are looked at.
    private static let spell = TimeAmount.milliseconds(1)
    /// A task that is due later than all others are done has the loop look at its sockets before.
    private static let pause = TimeAmount.microseconds(50)

    private let loop: any EventLoop
    private var waiting = CircularBuffer<() -> Void>()
    private var isRunning = false
    private var spellEnd = NIODeadline.uptimeNanoseconds(0)

    init(_ loop: any EventLoop) {
        self.loop = loop
    }

    /// Calls `turn` when it is its turn.
    func wait(_ turn: @escaping () -> Void) {
        loop.preconditionInEventLoop()
        waiting.append(turn)
        guard !isRunning else { return }
        isRunning = true
        goOn()
    }

    private func goOn() {
        guard !waiting.isEmpty else {
            isRunning = false
            return
        }
        if NIODeadline.now() < spellEnd {
            loop.execute { self.turn() }
        } else {
            loop.scheduleTask(in: Self.pause) {
                self.spellEnd = .now() + Self.spell
                self.turn()
            }
        }
    }

    private func turn() {
        waiting.popFirst()?()
        // After what the turn has begun.
        loop.execute { self.goOn() }
    }
}

/// The turns of each event loop.
final class TurnsOfLoops: Sendable {
    private let all = Mutex<[ObjectIdentifier: LoopTurns]>([:])

    func turns(of loop: any EventLoop) -> LoopTurns {
        all.withLock { all in
            let id = ObjectIdentifier(loop)
            if let turns = all[id] { return turns }
            let turns = LoopTurns(loop)
            all[id] = turns
            return turns
        }
    }
}
