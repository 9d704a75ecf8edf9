import ConversionValues
import EventLog
import Foundation
import Synchronization
import TestKit
import Testing

@testable import Collector

@Suite("Conversion values by HTTP")
struct ConversionRouteTests {
    private let conversions: ConversionPlace
    private let place: CollectorPlace

    init() throws {
        let conversions = try ConversionPlace()
        self.conversions = conversions
        place = try CollectorPlace(more: conversions.routes)
    }

    private let install = "idfv=5B1C7E3A-8A41-4F0E-9C55-0D0A4E6B7F21&i=com.example.rides"

    @Test("a device is told its value, and the log has what it was told when it is")
    func told() throws {
        let answer = try place.get(
            "/v1/conversion_value?\(install)&n=ride&conversion_value="
                + "&total_revenue_by_currency=%7B%22USD%22%3A4.99%7D")
        #expect(answer.status == 200)
        #expect(answer.text == #"{"status":"ok","conversion_value":5}"#)
        let records = try conversions.log.records(of: "conversion-updates")
        #expect(records.count == 1)
        let again = try place.get(
            "/v1/conversion_value/?\(install)&conversion_value=5"
                + "&total_revenue_by_currency=%7B%22USD%22%3A4.99%7D")
        #expect(again.text == #"{"status":"ok","reason":"the value does not change"}"#)
    }

    @Test(
        "servers send forms or JSON, with parameters in the query too, and are answered the value")
    func servers() throws {
        let form = try place.post(
            "/v1/event", "\(install)&n=ride&total_revenue_by_currency=%7B%22USD%22%3A1%7D",
            type: "application/x-www-form-urlencoded")
        #expect(form.text == #"{"status":"ok","conversion_value":2}"#)
        let json = try place.post(
            "/v1/launch?\(install)",
            #"{"total_revenue_by_currency":{"USD":2},"skan_conversion_value":2}"#)
        #expect(json.text == #"{"status":"ok","conversion_value":3}"#)
        #expect(try place.post("/v1/event", "[]").status == 400)
    }

    @Test("what cannot be is 400, in the words of the guide and of the collector")
    func refused() throws {
        let answer = try place.get("/v1/conversion_value?i=com.example.rides")
        #expect(answer.status == 400)
        #expect(answer.text.contains(#""status":"error","error":"missing_field""#))
        #expect(try place.get("/v1/conversion_value?idfv=a&i=com.example.no").status == 400)
        #expect(try place.get("/v1/event").status == 405)
    }

    @Test("the test mode keeps nothing")
    func testMode() throws {
        let answers = try ["", "0", "1", "2"].map {
            try place.get("/v1/test/conversion_value?conversion_value=\($0)").text
        }
        #expect(answers.last == #"{"status":"ok","conversion_value":""}"#)
        #expect(answers.first == #"{"status":"ok","conversion_value":0}"#)
        #expect(try conversions.log.records(of: "conversion-updates").isEmpty)
    }

    @Test("without an answer of the service it is 503, to be tried again")
    func stopped() throws {
        conversions.service.stop()
        let answer = try place.get("/v1/conversion_value?\(install)")
        #expect(answer.status == 503)
    }

    @Test(
        "a log that hangs is answered 503 in time, and what it took all the same is not told twice")
    func hangingLog() throws {
        let scripted = Mutex<ScriptedLog?>(nil)
        let conversions = try ConversionPlace(deadlineSeconds: 0.3) { log in
            let wrapped = ScriptedLog(log)
            scripted.withLock { $0 = wrapped }
            return wrapped
        }
        let place = try CollectorPlace(more: conversions.routes)
        let log = try #require(scripted.withLock { $0 })
        log.script.withLock { $0.hangSeconds = 2 * Wait.seconds }
        let begun = ContinuousClock.now
        let target = "/v1/conversion_value?\(install)&n=ride&update_id=u-1&conversion_value="
        // The second waits behind the first, which the log is being asked to take.
        concurrently(2) { _ in
            let answer = try? place.get(target)
            #expect(answer?.status == 503)
            #expect(answer?.headers["retry-after"] == "5")
            #expect(answer?.text.contains("has not acknowledged") == true)
        }
        #expect(begun.duration(to: .now) < .seconds(40))
        #expect(conversions.service.unreadiness?.contains("has not acknowledged") == true)
        log.script.withLock { $0.hangSeconds = 0 }
        var answer = try place.get(target)
        try Wait.until {
            if answer.status == 503 { answer = try place.get(target) }
            return answer.status != 503
        }
        #expect(answer.status == 200)
        #expect(conversions.service.unreadiness == nil)
        let records = try conversions.log.records(of: "conversion-updates")
        #expect(records.count >= 2, "one that was late is in the log, and its repetition")
        #expect(Set(records.compactMap { $0.headers["ce_id"] }) == ["u-1"])
    }

    @Test("a log that is locked is answered 503 by the deadline, without a word of where it is")
    func lockedLog() throws {
        let conversions = try ConversionPlace(deadlineSeconds: 0.5)
        let place = try CollectorPlace(more: conversions.routes)
        let target = "/v1/conversion_value?\(install)&n=ride&update_id=u-2&conversion_value="
        #expect(try Wait.until { try place.get(target).status == 200 })
        let stopwatch = Stopwatch()
        try conversions.whileLogIsLocked {
            let answer = try place.get(target + "&n=order")
            #expect(answer.status == 503)
            #expect(answer.text.contains("the log has not acknowledged in time: try again"))
            #expect(!answer.text.contains("sqlite"))
            // SQLite alone would wait for much longer.
            #expect(stopwatch.seconds < 6)
        }
    }

    @Test("faults say nothing of where the log and the file are")
    func words() {
        let faults: [ConversionServiceError] = [
            .log(.busy(operation: "append to", address: "sqlite:/var/log.sqlite")),
            .otherLog(path: "/var/conversions.sqlite", detail: "/var"),
            .store(.notAStore(path: "/var/conversions.sqlite", detail: "/var")),
            .unwritable(detail: "/var"),
        ]
        for fault in faults { #expect(!fault.explanation.contains("var")) }
        #expect(
            faults[0].explanation
                == AppendRefusal.log(.busy(operation: "", address: "")).explanation)
    }

    @Test("who waits for a log that hangs is answered at the end, which does not wait for the log")
    func endWhileHanging() throws {
        let scripted = Mutex<ScriptedLog?>(nil)
        let conversions = try ConversionPlace(deadlineSeconds: 60) { log in
            let wrapped = ScriptedLog(log)
            scripted.withLock { $0 = wrapped }
            return wrapped
        }
        let place = try CollectorPlace(more: conversions.routes)
        let log = try #require(scripted.withLock { $0 })
        log.script.withLock { $0.hangSeconds = 2 * Wait.seconds }
        let target = "/v1/conversion_value?\(install)&n=ride"
        let service = conversions.service
        let begun = ContinuousClock.now
        concurrently(2) { worker in
            if worker == 0 {
                let answer = try? place.get(target)
                #expect(answer?.status == 503)
                #expect(answer?.text.contains("the collector is stopping") == true)
            } else {
                Wait.until { log.script.withLock { !$0.appends.isEmpty } }
                service.endWaits(inSeconds: 0.3)
                Thread.sleep(forTimeInterval: 0.6)
                service.stop(withinSeconds: 0.5)
            }
        }
        #expect(begun.duration(to: .now) < .seconds(40))
        log.script.withLock { $0.hangSeconds = 0 }
    }
}
