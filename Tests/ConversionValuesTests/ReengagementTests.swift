import ConversionModels
import Foundation
import Streams
import Testing

@testable import ConversionValues

@Suite("Re-engagements of AdAttributionKit")
struct ReengagementTests {
    private static let words = [
        "framework": "adattributionkit", "conversion_type": "re-engagement",
    ]

    private func refusal(_ changes: [String: String]) -> String? {
        do {
            _ = try Device().request("ride", .conversionValue, changes, at: Time.noon)
            return nil
        } catch {
            return (error as? Rejection)?.detail
        }
    }

    @Test("a type and a tag are read, and refused where the framework has none")
    func parameters() throws {
        func conversion(_ changes: [String: String]) throws -> ConversionRequest.Conversion {
            try Device().request(
                "ride", .conversionValue, Self.words.merging(changes) { $1 }, at: Time.noon
            ).conversion
        }
        #expect(try conversion([:]) == .reengagement(tag: ""))
        #expect(try conversion(["conversion_tag": "summer"]) == .reengagement(tag: "summer"))
        #expect(
            try conversion(["conversion_type": "", "conversion_tag": "a"])
                == .reengagement(tag: "a"))
        #expect(try conversion(["conversion_type": "install"]) == .install)
        #expect(try conversion(["conversion_type": ""]) == .install)
        #expect(
            refusal(["conversion_type": "re-engagement"])
                == "re-engagements exist only in AdAttributionKit: give framework=adattributionkit")
        #expect(refusal(["conversion_tag": "a", "framework": "skadnetwork"]) != nil)
        #expect(
            refusal(
                Self.words.merging(["conversion_type": "install", "conversion_tag": "a"]) { $1 })
                == "conversion_tag belongs to a re-engagement, but conversion_type is install")
        #expect(
            refusal(Self.words.merging(["conversion_type": "download"]) { $1 })
                == "conversion_type is neither install nor re-engagement")
    }

    @Test("the update says what it is of, and that of an install is as it was")
    func updates() throws {
        var device = Device()
        _ = try device.ask(
            "ride", .conversionValue, ["framework": "adattributionkit"], at: Time.noon)
        var again = Device()
        _ = try again.ask(
            "ride", .conversionValue, Self.words.merging(["conversion_tag": "a"]) { $1 },
            at: Time.noon)
        let texts = try [device, again].map {
            String(decoding: try $0.updates[0].json(), as: UTF8.self)
        }
        #expect(!texts[0].contains("conversion_t"))
        #expect(texts[1].contains(#""conversion_tag":"a","conversion_type":"re-engagement""#))
        let read = try #require(
            Array(texts[1].utf8).withUnsafeBytes { ConversionUpdate.read($0) })
        #expect(read == again.updates[0] && read.install.conversion == .reengagement(tag: "a"))
    }

    @Test("each tag, and the install, has windows and values of its own, also after a start anew")
    func apart() async throws {
        let place = try ServicePlace()
        let service = try place.service()
        let later = Time.noon + 3 * Time.day
        func ask(
            _ service: ConversionService, _ more: [String: String], firstCall: Int64, at now: Int64
        ) async throws -> ConversionAnswer {
            var device = Device(app: Shipped.meals, firstCall: firstCall)
            device.totals = ["GBP": 60]
            return try await service.answer(
                device.request("order", .conversionValue, more, at: now), nowMilliseconds: now)
        }
        let install = ["framework": "adattributionkit"]
        let told = try await ask(service, install, firstCall: Time.noon, at: Time.noon)
        #expect(told.fine != nil)
        // The install is in its second window, and the re-engagement in its first.
        for tag in ["", "spring", "summer"] {
            let more = Self.words.merging(["conversion_tag": tag]) { $1 }
            let answer = try await ask(service, more, firstCall: later, at: later)
            #expect(answer.fine == told.fine, "\(tag)")
        }
        #expect(try await ask(service, install, firstCall: Time.noon, at: later).fine == nil)
        service.stop()
        func state(_ conversion: ConversionRequest.Conversion) throws -> InstallState? {
            try place.state(
                of: InstallKey(
                    appID: Shipped.meals, installID: Device().installID,
                    framework: .adAttributionKit, conversion: conversion))
        }
        let tags: [ConversionRequest.Conversion] = ["", "spring", "summer"].map {
            .reengagement(tag: $0)
        }
        for conversion in tags {
            #expect(try state(conversion)?.firstCallMilliseconds == later)
            #expect(try state(conversion)?.windows[0].eventCounts == ["order": 1])
        }
        #expect(try state(.reengagement(tag: "autumn")) == nil)
        #expect(try state(.install)?.firstCallMilliseconds == Time.noon)
        #expect(
            try state(.install)?.windows.map(\.eventCounts) == [["order": 1], ["order": 1], [:]])
        let before = try tags.map { try state($0) }
        // What the log says is enough.
        for end in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: place.path + "/conversions.sqlite" + end)
        }
        let again = try place.service()
        _ = try await ask(again, install, firstCall: Time.noon, at: later + 1000)
        again.stop()
        #expect(try tags.map { try state($0) } == before)
    }

    @Test("a re-engagement without a value in its first two days is told none any more")
    func unanswered() throws {
        var late = Device()
        #expect(
            try late.ask("ride", .conversionValue, Self.words, at: Time.noon + 2 * Time.day).reason
                == "the last conversion window has ended")
        // One that had a value goes on, as an install does in any case.
        var timely = Device()
        timely.totals = ["USD": 5]
        #expect(try timely.ask("ride", .conversionValue, Self.words, at: Time.noon).fine != nil)
        let answer = try timely.ask(
            "ride", .conversionValue, Self.words, at: Time.noon + 3 * Time.day)
        #expect(answer.reason != "the last conversion window has ended")
        var install = Device()
        install.totals = ["USD": 5]
        #expect(
            try install.ask(
                "ride", .conversionValue, ["framework": "adattributionkit"],
                at: Time.noon + 3 * Time.day
            ).reason != "the last conversion window has ended")
    }
}
