import CSimulatedSystem
import EmbeddedLog
import EventLog

/// What a simulation may do; a seed turns some of it off, so that rare combinations come up.
package enum FaultKind: String, CaseIterable, Sendable {
    case kill, crashAtCall, powerLoss, stop, pause, secondWorker
    case writeError, diskFull, syncError, readError, shortReadsAndWrites
    case unavailableLog, slowLog, lostAnswer, repeatedAppend, offsetsNotTaken
    case gaps, clockJump, extremeTimes, timesOutOfOrder, otherBatches, fewIDs
    case trimming, topicRecreated, morePartitions
    case backup, restore, archive, promotion
    case partnerAway, partnerLostAnswer, partnerBusy, partnerRefuses, partnerShut, partnerLate
    case flood, leaderAway, unsyncedNames, incrementalRebalances, otherConfiguration, upgrade
    case snapshots, standby, lostMachine, damagedSnapshot, handOff
    case erasure

    /// Those that are drawn apart from the others, which leaves what else is drawn as it is: in one run of so many.
    var isOneIn: UInt64? {
        switch self {
        // Floods take long.
        case .flood: 16
        case .leaderAway, .unsyncedNames, .upgrade: 3
        case .incrementalRebalances, .standby, .lostMachine, .damagedSnapshot, .handOff: 2
        case .snapshots, .erasure: 3
        case .otherConfiguration: 4
        default: nil
        }
    }

    /// Those that are done to a log in one file only.
    static let ofEmbeddedLogs: Set<FaultKind> = [.archive, .promotion, .upgrade, .erasure]

    /// With these a store may fold records again, which may be erased; or it may lose what it has folded.
    static let foldingAgain: Set<FaultKind> = [
        .archive, .promotion, .upgrade, .restore, .otherConfiguration, .syncError,
    ]

    /// Those that are done to snapshots of partitions.
    static let ofSnapshots: Set<FaultKind> = [
        .snapshots, .standby, .lostMachine, .damagedSnapshot, .handOff,
    ]

    /// With these the group's offset does not show that a store of deliveries is an older copy.
    static let hidingCopiesOfDeliveries: Set<FaultKind> = [.offsetsNotTaken, .pause]

    /// Those that a log in one file does not have.
    static let ofClusters: Set<FaultKind> = [
        .unavailableLog, .slowLog, .lostAnswer, .repeatedAppend, .offsetsNotTaken, .gaps, .trimming,
        .topicRecreated, .morePartitions, .partnerAway, .partnerLostAnswer, .partnerBusy,
        .partnerRefuses, .partnerShut, .partnerLate, .leaderAway,
        .incrementalRebalances,
    ]
}

/// What comes of faults, and what happens without one.
enum Transition: String, CaseIterable {
    case assigned = "partitions assigned"
    case revoked = "partitions revoked"
    case slowRead = "slow read"
    case gap = "gap in the offsets"
    case offsetGone = "offset gone while reading"
    case offsetsNotTaken = "offsets not taken"
    case olderGeneration = "offsets of an older generation"
    case toldAtRevocation = "offsets that a member reported when it gave partitions up"
    case waitedForMembers = "a member that waited for others to give partitions up"
    case lostAnswer = "lost answer to an append"
    case appendedTwice = "record appended twice"
    case repetition = "a producer's repetition"
    case appendsRefused = "a partition's leader is away"
    case edge = "a repetition at the window's edge"

    case partnerAway = "a partner is away"
    case partnerAnswerLost = "a partner's answer is lost"
    case partnerLate = "a partner answers late"
    case partnerBusy = "a partner asks for a pause"
    case partnerRefuses = "a partner refuses a document"
    case partnerShut = "a partner refuses everything"

    case acceptanceUnstored = "a partner's acceptance is not stored before a crash"

    case stopped = "ended: as it was asked"
    case killedAtCall = "ended: killed at a call"
    case diskFailed = "ended: the disk failed"
    case logFailed = "ended: the log was away"
    case logDiskFailed = "ended: the embedded log's disk failed"
    case recordsGone = "ended: the log lost records that were to be read"
    case startsLater = "ended: the log starts later"
    case endsEarlier = "ended: the new topic ends or begins earlier"
    case otherRecords = "ended: the new topic has other records or offsets again"
    case documentsGone = "ended: documents are gone that nobody had taken over"
    case otherDocuments = "ended: the new topic has other or fewer documents"
    case memoryFull = "ended: more ids than dedupe_max_ids"
    case otherPartitions = "ended: the topic has more partitions"
    case refused = "refused: a second process on a store"

    case producerKilled = "embedded log: a producer was killed at a call"
    case producerFailed = "embedded log: an append failed"
    case acknowledged = "embedded log: an append was acknowledged"

    case continuedSnapshot = "a partition continued from a snapshot"
    case copiedSnapshot = "a partition of another worker was copied"
    case refusedSnapshot = "a snapshot was refused"
    case snapshotFailed = "a snapshot could not be taken"
    case handedOff = "operator: a partition was handed to another worker"

    case backedUp = "operator: a store was copied while its worker went on"
    case restored = "operator: a store was replaced by its copy"
    case archived = "operator: a topic was archived"
    case trimmedArchived = "operator: archived records were trimmed"
    case replayed = "operator: a stream was replayed"
    case followedEpochs = "digest compared with a replay under the recorded windows"
    case trimmedLeftOut = "compared with the model only: a trimmed topic"
    case digestLeftOut = "digest not compared: several windows, and no embedded log"
    case promoted = "operator: a replayed store was promoted"
    case handedOver = "operator: a worker gave its store up to a promotion"
    case rolledBack = "operator: a promotion was taken back"
    case promotionStopped = "operator: a promotion was stopped"
    case nothingCorrected = "operator: a promoted set had no correction to send"
    case upgraded = "operator: a store was upgraded"
    case erased = "operator: records were erased"
    case operatorKilled = "operator: killed at a call"
    case operatorFailed = "operator: the disk failed"

    case installAnswered = "collector: an install was answered"
    case statesRecreated = "collector: its file was damaged and made anew"

    case evidenceHolds = "evidence of a dump holds"
    case indexAgrees = "the index lists the records of a dump"
    case published = "documents for partners"
    case delivered = "documents delivered"
}

/// A call to the brokers.
enum LogCall: String, CaseIterable {
    case ask
    case createTopic = "create a topic in"
    case open
    case seek = "seek in"
    case read
    case append = "append to"

    var event: String { "unavailable: \(rawValue)" }
}

/// What runs can meet.
package enum Coverage {
    package static var everything: [String] {
        FaultKind.allCases.map(\.rawValue) + Transition.allCases.map(\.rawValue)
            + LogCall.allCases.map(\.event) + systemEvents.map(\.name)
            + Simulation.feeds.map { $0(0) }.flatMap { feed in
                feed.reasons.map { rejected(feed.stream.streamName, $0) }
            }
    }

    static func rejected(_ stream: String, _ reason: String) -> String {
        "\(stream) refused: \(reason)"
    }

    /// What the simulated systems of all runs of this program have done.
    static var systemEvents: [(name: String, count: Int)] {
        (0..<WEIR_SIM_EVENTS.rawValue).compactMap { number in
            let event = weir_sim_event(rawValue: number)
            return weir_sim_event_name(event).map {
                (String(cString: $0), Int(weir_sim_count(event)))
            }
        }
    }
}
