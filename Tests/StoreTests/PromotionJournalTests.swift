import Foundation
import History
import Store
import TestKit
import Testing

@Suite("Sets of stores")
struct PromotionJournalTests {
    @Test("Without a journal the stores are the directory's own")
    func none() throws {
        let sets = try PromotionJournal(directory: "/nowhere/data")
        #expect(sets.path(of: "bids") == "/nowhere/data/bids.sqlite")
        #expect(sets.path(of: "bids", atMilliseconds: 5) == "/nowhere/data/bids.sqlite")
        #expect(sets.set(of: "bids") == ".")
    }

    @Test("The last promotion that names a stream says where its store is, now and at any instant")
    func promotions() throws {
        let place = try Workplace()
        var sets = try PromotionJournal(directory: place.path)
        #expect(sets.set(at: place.path + "/sets/first") == "sets/first")
        #expect(sets.set(at: place.path) == ".")
        #expect(sets.set(at: "/elsewhere/set") == "/elsewhere/set")
        try sets.append(
            StorePromotion(
                atMilliseconds: 100, kind: .promote,
                streams: [
                    "bids": .init(to: "sets/first", from: "."),
                    "postbacks": .init(to: "/elsewhere/set", from: "."),
                ]))
        try sets.append(
            StorePromotion(
                atMilliseconds: 200, kind: .rollback,
                streams: ["bids": .init(to: ".", from: "sets/first")]))
        let read = try PromotionJournal(directory: place.path)
        #expect(read.promotions == sets.promotions)
        #expect(read.path(of: "bids") == place.path + "/bids.sqlite")
        #expect(read.path(of: "postbacks") == "/elsewhere/set/postbacks.sqlite")
        #expect(read.path(of: "impressions") == place.path + "/impressions.sqlite")
        #expect(read.path(of: "bids", atMilliseconds: 99) == place.path + "/bids.sqlite")
        #expect(
            read.path(of: "bids", atMilliseconds: 100) == place.path + "/sets/first/bids.sqlite")
        #expect(read.path(of: "bids", atMilliseconds: 200) == place.path + "/bids.sqlite")
        let between = read.promotions(of: "bids", afterMilliseconds: 100, throughMilliseconds: 200)
        #expect(between.map(\.promotion.kind) == [.rollback])
        #expect(between.map(\.from) == [place.path + "/sets/first/bids.sqlite"])
        #expect(
            read.promotions(of: "bids", afterMilliseconds: 0, throughMilliseconds: .max - 1).count
                == 2)
    }

    @Test("A journal that is not understood is an error that sends to a backup")
    func damaged() throws {
        let place = try Workplace()
        try "{\"promotions\": [{}]}".write(
            toFile: place.path + "/sets.json", atomically: true, encoding: .utf8)
        let error = #expect(throws: StoreError.self) {
            try PromotionJournal(directory: place.path)
        }
        #expect(try #require(error).description.contains("restore it from a backup"))
    }

    @Test("A request for promotion is held once, and what a dead one left means nothing")
    func requests() throws {
        let place = try Workplace()
        #expect(!PromotionRequest.isMade(in: place.path))
        do {
            let request = try PromotionRequest(directory: place.path)
            #expect(PromotionRequest.isMade(in: place.path))
            #expect(PromotionRequest.isHeld(in: place.path))
            #expect(throws: StoreError.self) { try PromotionRequest(directory: place.path) }
            withExtendedLifetime(request) {}
        }
        #expect(!PromotionRequest.isMade(in: place.path))
        try "1\n".write(toFile: place.path + "/promotion.lock", atomically: true, encoding: .utf8)
        #expect(PromotionRequest.isMade(in: place.path))
        #expect(!PromotionRequest.isHeld(in: place.path))
        #expect(!PromotionRequest.isMade(in: place.path))
    }

    @Test("A store is copied by several at once, and nobody works on it then")
    func copying() throws {
        let place = try Workplace()
        let path = place.path + "/bids.sqlite"
        do {
            let first = try StoreLock(copying: path)
            let second = try StoreLock(copying: path)
            #expect(first != nil && second != nil)
            #expect(throws: StoreError.self) { try StoreLock(storePath: path) }
            withExtendedLifetime((first, second)) {}
        }
        let worker = try StoreLock(storePath: path)
        #expect(throws: StoreError.self) { try StoreLock(copying: path) }
        withExtendedLifetime(worker) {}
        #expect(try StoreLock(copying: place.path + "/none/bids.sqlite") == nil)
    }
}
