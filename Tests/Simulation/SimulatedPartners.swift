import CSimulatedSystem
import Deliveries
import EventLog
import Foundation
import HTTPClient
import Store
import TestKit

/// Partners behind their addresses: what each request had, and how it is answered.
final class SimulatedPartners {
    struct Request {
        let sender: String
        let partner: String
        let id: String
        let revision: Int64
        let body: [UInt8]
        /// Whether the partner got it and said so, although the answer may be lost on its way.
        let isAccepted: Bool
    }

    /// How often a partner does so, in a million.
    struct Chances {
        /// There is no connection.
        var away: UInt64 = 0
        /// It has the request, and its answer is lost.
        var lostAnswer: UInt64 = 0
        /// It asks for a pause.
        var busy: UInt64 = 0
        /// It wants this document never.
        var refuses: UInt64 = 0
        /// It wants nothing more, or not from this sender.
        var shut: UInt64 = 0
        /// Its answer takes some turns.
        var late: UInt64 = 0
    }

    /// What an instance that delivers knows and has stored, by the name of its machine.
    private struct Sender {
        /// What a process has stored as delivered: it is not sent again.
        var settled: Set<String> = []
        /// What a process has read of an answer that ends a delivery, and how many answers of each use up an attempt, by
        /// idempotency key, since it was retried.
        var ended: Set<String> = []
        var attempts: [String: Int] = [:]
        /// Until when nothing may be sent to a partner that has asked for it: what a process has read in its turn, and
        /// what is stored.
        var pauses: (read: [String: Int64], stored: [String: Int64]) = ([:], [:])
        /// Partners that want nothing more, or not from this sender, in the same way.
        var shut: (read: Set<String>, stored: Set<String>) = ([], [])
        /// Requests before are not held against what it sends.
        var firstRequest = 0
    }

    private struct Answer {
        let process: Int32
        let sender: String
        let partner: String
        let key: String
        let result: RequestResult
        /// Looks at the answers until it is there.
        var left: UInt64
        let completion: @Sendable (RequestResult) -> Void
    }

    private let cluster: SimulatedCluster
    var chances = Chances()
    private(set) var requests: [Request] = []
    private var answers: [Answer] = []
    /// Acceptances that were handed to a process, by its number, until its turn is over.
    private var handed: [Int32: Set<String>] = [:]
    private var senders: [String: Sender] = [:]
    /// The first request that should not have been.
    private(set) var fault: SimulationFault?

    init(_ cluster: SimulatedCluster) {
        self.cluster = cluster
    }

    /// Hands the answers that are there to a process that is about to take its turn.
    func answer(_ process: Int32) {
        for index in answers.indices
        where answers[index].process == process && answers[index].left > 0 {
            answers[index].left -= 1
        }
        let ready = answers.filter { $0.process == process && $0.left == 0 }
        answers.removeAll { $0.process == process && $0.left == 0 }
        for answer in ready {
            note(answer, of: &senders[answer.sender, default: Sender()])
            answer.completion(answer.result)
        }
    }

    /// What a process may store of an answer.
    private func note(_ answer: Answer, of sender: inout Sender) {
        guard case .answered(let status, let pause, _) = answer.result else {
            sender.attempts[answer.key, default: 0] += 1
            return
        }
        switch status {
        case 200...299: handed[answer.process, default: []].insert(answer.key)
        case 401, 403: sender.shut.read.insert(answer.partner)
        case 410:
            sender.shut.read.insert(answer.partner)
            sender.ended.insert(answer.key)
        case 429, 500...599:
            sender.attempts[answer.key, default: 0] += 1
            guard let pause, status == 429 || status == 503 else { return }
            // A day at most.
            let until = weir_sim_now() + min(pause, 86_400_000) * 1_000_000
            sender.pauses.read[answer.partner] = max(
                until, sender.pauses.read[answer.partner] ?? 0)
        default: sender.ended.insert(answer.key)
        }
    }

    /// A turn went well, and what was answered before it is stored.
    func settle(_ process: Int32, of name: String) {
        guard var sender = senders[name] else { return }
        sender.settled.formUnion(handed.removeValue(forKey: process) ?? [])
        sender.pauses.stored.merge(sender.pauses.read) { max($0, $1) }
        sender.pauses.read = [:]
        sender.shut.stored.formUnion(sender.shut.read)
        sender.shut.read = []
        senders[name] = sender
    }

    /// The clock of the day has jumped.
    func endPauses() {
        for name in senders.keys { senders[name]?.pauses = ([:], [:]) }
    }

    /// An operator has retried what there is for a partner.
    func reopen(_ partner: String, by name: String) {
        senders[name]?.shut.stored.remove(partner)
        senders[name]?.pauses.stored[partner] = nil
    }

    /// An operator has retried deliveries: their attempts count anew.
    func reset(_ keys: Set<String>, by name: String) {
        senders[name]?.ended.subtract(keys)
        for key in keys { senders[name]?.attempts[key] = nil }
    }

    /// The sender goes on with an older copy of its store: it may send what it delivered since, under the same keys, and
    /// to partners that have shut or asked for pauses since.
    ///
    /// - Parameter isShared: whether another instance may have partitions of which it has lost something. Then it may
    ///   also send a revision below one that it sent before.
    func forgetSettled(_ name: String, isShared: Bool) {
        senders[name]?.settled = []
        senders[name]?.shut = ([], [])
        senders[name]?.pauses = ([:], [:])
        if isShared { senders[name]?.firstRequest = requests.count }
    }

    /// Whether there is a reason that a document is not sent any more.
    func mayBeDead(_ key: String, at name: String) -> Bool {
        senders[name].map { $0.ended.contains(key) || $0.attempts[key] ?? 0 >= 10 } ?? false
    }

    /// The process is over: its connections are closed.
    func forget(_ process: Int32, of name: String) {
        answers.removeAll { $0.process == process }
        senders[name]?.pauses.read = [:]
        senders[name]?.shut.read = []
        if handed.removeValue(forKey: process)?.isEmpty == false {
            cluster.cover(.acceptanceUnstored)
        }
    }

    func take(
        _ request: OutgoingRequest, from process: Int32, of name: String,
        _ completion: @escaping @Sendable (RequestResult) -> Void
    ) {
        let key = request.headers.first { $0.name == "Idempotency-Key" }?.value ?? ""
        let result = draw()
        let isAccepted =
            switch result {
            case .answered(200...299, _, _): true
            case .failed(.timeout, _): true
            default: false
            }
        let partner = request.url.split(separator: "/").last.map(String.init) ?? ""
        // The start and the duration of an attempt are kept in whole milliseconds.
        let sender = senders[name, default: Sender()]
        if let pause = sender.pauses.stored[partner],
            case let early = pause - weir_sim_now(),
            early >= 2_000_000
        {
            note(
                "\(key) is sent to \(partner), which has asked for a pause: \(early) ns too early"
            )
        }
        if sender.shut.stored.contains(partner) {
            note("\(key) is sent to \(partner), which has refused everything")
        }
        let parts = key.split(separator: ":")
        if case .failed(.connection, _) = result {
        } else {
            let revision = parts.last.flatMap { Int64($0) } ?? 0
            let id = String(parts.first ?? "")
            if sender.settled.contains(key) {
                note("\(key) is sent again after it was delivered")
            }
            let earlier = requests[sender.firstRequest...].filter { $0.sender == name }
            if let higher = earlier.last(where: { $0.id == id && $0.revision > revision }) {
                note("\(key) is sent after revision \(higher.revision)")
            }
            if let other = earlier.last(where: { $0.id == id && $0.revision == revision }),
                other.body != request.body
            {
                note("\(key) is sent with another body")
            }
            requests.append(
                Request(
                    sender: name, partner: partner, id: id, revision: revision,
                    body: request.body ?? [],
                    isAccepted: isAccepted))
        }
        let isLate = cluster.happens(chances.late, .partnerLate)
        answers.append(
            Answer(
                process: process, sender: name, partner: partner, key: key, result: result,
                left: 1 + (isLate ? cluster.random.next() % 8 : 0), completion: completion))
    }

    private func note(_ text: String) {
        fault = fault ?? SimulationFault(text)
    }

    private func draw() -> RequestResult {
        if cluster.happens(chances.away, .partnerAway) {
            return .failed(.connection, detail: "refused")
        }
        if cluster.happens(chances.lostAnswer, .partnerAnswerLost) {
            return .failed(.timeout, detail: "no answer")
        }
        let pauses: [Int64?] = [nil, 0, 1000, 60_000, 999_999_999_000]
        let pause = pauses[Int(cluster.random.next() % 5)]
        if cluster.happens(chances.busy, .partnerBusy) {
            return .answered(
                status: cluster.random.next() % 2 == 0 ? 429 : 503, retryAfterMilliseconds: pause)
        }
        if cluster.happens(chances.refuses, .partnerRefuses) {
            let statuses = [302, 400, 404, 422, 500]
            return .answered(
                status: statuses[Int(cluster.random.next() % 5)], retryAfterMilliseconds: nil)
        }
        if cluster.happens(chances.shut, .partnerShut) {
            let statuses = [401, 403, 410]
            return .answered(
                status: statuses[Int(cluster.random.next() % 3)], retryAfterMilliseconds: nil)
        }
        return .answered(status: 200 + Int(cluster.random.next() % 5), retryAfterMilliseconds: nil)
    }
}

/// The way of one process to partners. Everything of a simulation happens on one thread, which makes it
/// `@unchecked Sendable`.
final class SimulatedSender: PartnerSender, @unchecked Sendable {
    private let partners: SimulatedPartners
    private let process: Int32
    private let name: String

    init(_ partners: SimulatedPartners, process: Int32, of name: String) {
        self.partners = partners
        self.process = process
        self.name = name
    }

    func send(
        _ request: OutgoingRequest, to destination: Destination,
        completion: @escaping @Sendable (RequestResult) -> Void
    ) {
        guard !weir_sim_is_dead(process) else { return }
        partners.take(request, from: process, of: name, completion)
    }
}
