import EventLog
import TestKit

/// Why a record is rejected: the closed list of the contract, in the order in which the reasons are asked.
enum ContractReason: String, CaseIterable {
    case tombstone
    case tooLarge = "too_large"
    case invalidUTF8 = "invalid_utf8"
    case tooDeep = "too_deep"
    case malformedJSON = "malformed_json"
    case unknownType = "unknown_type"
    case missingField = "missing_field"
    case wrongType = "wrong_type"
    case outOfRange = "out_of_range"
    case overflow

    /// The one of several that is asked first.
    static func first(of reasons: [ContractReason]) -> ContractReason? {
        allCases.first { reasons.contains($0) }
    }
}

/// What a record of a stream of single events means.
struct EventMeaning<Event> {
    enum Content {
        case rejected(ContractReason)
        case event(Event)
    }

    /// The header `ce_type` as it was written; nil for none.
    var type: String?
    /// A structured CloudEvent: its type is not looked for, and unknown.
    var isStructured = false
    var content: Content
}

struct Draft<Event> {
    var type: String
    var event: Event
    var members: [DraftWriter.Member?]
    /// Of the record; nil for the id.
    var key: [UInt8]?
}

/// A stream each of whose records is one event, with an envelope and members that are judged one by one.
protocol EventModel: StreamModel where Meaning == EventMeaning<Event> {
    associatedtype Event
    /// The default type comes first.
    static var types: [String] { get }

    var history: EventHistory<Event> { get set }

    /// Makes an event and writes it; `writer` knows which faults it wrote.
    ///
    /// - Parameter id: of the auction, impression or request; several records may have it.
    static func makeEvent(id: String, using writer: inout DraftWriter) -> Draft<Event>
}

extension EventModel {
    /// What these events add is bounded, so that no sum of a run's records overflows.
    static var unreachedReasons: Set<ContractReason> { [.overflow] }

    /// The type that an outcome counts under.
    static func outcomeType(of meaning: Meaning) -> String {
        let type = meaning.type ?? types[0]
        return types.contains(type) && !meaning.isStructured ? type : "unknown"
    }
}

// MARK: - Generator

/// What a model made before, so that it can be repeated.
struct EventHistory<Event> {
    private var records: [ModelRecord<EventMeaning<Event>>] = []
    private var idsMade = 0

    /// How many records are kept to be repeated, at most.
    private static var bound: Int { 2_000 }

    init() {}

    /// One of the last records half of the time, else any.
    func repeated(using random: inout SeededGenerator) -> ModelRecord<EventMeaning<Event>>? {
        Bool.random(using: &random)
            ? records.suffix(30).randomElement(using: &random)
            : records.randomElement(using: &random)
    }

    mutating func add(_ record: ModelRecord<EventMeaning<Event>>) {
        // The ones of a mebibyte are rejected, and again when they come twice.
        guard record.value?.count ?? 0 < 100_000 else { return }
        records.append(record)
        if records.count > Self.bound { records.removeFirst(Self.bound / 2) }
    }

    /// An id that is new, or was there a short or a long time ago. Several look like each other: they are equal after
    /// normalisation or in lower case, and are not the same.
    mutating func nextID(using writer: inout DraftWriter) -> String {
        idsMade += 1
        let newest = idsMade / 3
        let number = Int.random(
            in: writer.chance(3) ? 0...newest : max(0, newest - 5)...newest, using: &writer.random)
        return writer.pick(["a", "A", "ä", "a\u{308}", "\"\\/", "😀", ""]) + "\(number)"
    }
}

extension EventModel {
    mutating func makeRecord(using random: inout SeededGenerator) -> ModelRecord<Meaning> {
        if Int.random(in: 0..<5, using: &random) == 0,
            let repeated = history.repeated(using: &random)
        {
            return repeated
        }
        var writer = DraftWriter(random: random)
        let id = history.nextID(using: &writer)
        writer.mayBreak = writer.chance(5)
        let draft = Self.makeEvent(id: id, using: &writer)
        writer.mayBreak = false
        let value = writer.damagedNowAndThen(writer.document(draft.members))

        var headers: [OutgoingRecord.Header] = [
            .init("ce_specversion", "1.0"), .init("ce_id", "\(id)/\(draft.type)"),
            .init("ce_source", "/simulation"),
        ]
        var meaning = Meaning(type: draft.type, content: .event(draft.event))
        Self.chooseType(of: &meaning, into: &headers, using: &writer)
        if let reason = ContractReason.first(of: writer.reasons) {
            meaning.content = .rejected(reason)
        }
        random = writer.random
        let record = ModelRecord(
            key: draft.key ?? Array(id.utf8), headers: headers, value: value, meaning: meaning)
        history.add(record)
        return record
    }

    /// Adds the headers that decide the type, which are another event's or none now and then.
    private static func chooseType(
        of meaning: inout Meaning, into headers: inout [OutgoingRecord.Header],
        using writer: inout DraftWriter
    ) {
        var contentType = "application/json"
        if writer.chance(60) {
            writer.reasons.append(.unknownType)
            meaning.type = writer.pick(["x.unknown", "conversion.updated", types[0] + " "])
        } else if writer.chance(60) {
            writer.reasons.append(.unknownType)
            meaning.type = nil
            meaning.isStructured = true
            contentType = writer.pick([
                "application/cloudevents+json", "application/cloudevents-batch+json",
                "application/cloudevents+json; charset=utf-8",
            ])
        } else if meaning.type == types[0], writer.chance(3) {
            meaning.type = nil
        }
        if let type = meaning.type {
            headers.append(.init("ce_type", type))
            // Of several headers the first counts.
            if writer.chance(20) { headers.append(.init("ce_type", types[0])) }
        }
        headers.append(.init("content-type", contentType))
    }
}

// MARK: - What the events share

/// The campaign key.
struct ModelCampaign {
    /// As it was written: in letters of any case.
    var network = ""
    var campaign = ""
    var app: Int64 = 0
    var sourceApp: Int64 = 0

    /// The columns of a dump.
    var columns: [String] { [lowercasedASCII(network), campaign, "\(app)", "\(sourceApp)"] }
}

func lowercasedASCII(_ text: String) -> String {
    String(
        decoding: text.utf8.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 + 32 : $0 },
        as: UTF8.self)
}

func isSameBytes(_ left: String, _ right: String) -> Bool { Array(left.utf8) == Array(right.utf8) }

/// Compares versions part by part as numbers; one that begins with no digit is below all.
func isVersion(_ version: String?, atLeast bound: [Int]) -> Bool {
    let parts = (version ?? "").split(separator: ".").map { Int($0) }
    guard parts.first != nil, !parts.contains(nil) else { return false }
    for (index, least) in bound.enumerated() {
        let part = index < parts.count ? parts[index] ?? 0 : 0
        if part != least { return part > least }
    }
    return true
}
