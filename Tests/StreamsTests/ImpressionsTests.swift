import EventLog
import JSON
import Streams
import Testing

@Suite("Impressions")
struct ImpressionsTests {
    private func sums(_ records: [TestRecord], _ measures: String...) throws -> [Int64] {
        let result = try foldImpressions(records)
        return measures.map { result.sum("impressions", $0) }
    }

    private func inApp(_ type: String, _ id: String = "a", _ more: Document? = nil) -> TestRecord {
        let event: Document = ["impression_id": .string(id), "adapter": "x"]
        return TestRecord(event.with(["ad_format": more, "stage": more]), type: type)
    }

    @Test("a banner of an in-app bidder is seen as it loads, an interstitial when it is shown")
    func bannersShowOnLoad() throws {
        let banner = inApp("inapp.loaded", "a", "banner")
        let interstitial = inApp("inapp.loaded", "a", "interstitial")
        #expect(try sums([banner], "loaded", "presented") == [1, 1])
        #expect(try sums([interstitial], "loaded", "presented") == [1, 0])
        #expect(
            try sums([interstitial, inApp("inapp.impression")], "loaded", "presented") == [1, 1])
    }

    @Test("an interstitial that fails to show is no impression")
    func failureToShow() throws {
        let records = [
            inApp("inapp.loaded", "a", "interstitial"), inApp("inapp.failed", "a", "show"),
        ]
        #expect(try sums(records, "presented", "failed", "loaded") == [0, 1, 1])
    }

    @Test("a hand-over is no impression: the bidder's own follow")
    func handovers() throws {
        #expect(try sums([inApp("inapp.handover")], "handovers", "presented") == [1, 0])
    }

    @Test("an overlay that StoreKit could not show is a failure, whatever the code")
    func overlayErrors() throws {
        for code: Int64 in [15, 16, 17, 20, 0, -1, 99] {
            let record = TestRecord(
                ["impression_id": "a", "error": .raw("\(code)")] as Document,
                type: "skoverlay.failed")
            #expect(try sums([record], "failed", "presented") == [1, 0])
        }
    }

    @Test("paid is said by the presence of pc_id alone: 0 is there, null and an empty text are not")
    func paidByPresence() throws {
        let field = Outbrain.document + ".pc_id"
        for there: Document in [0, 774, "774", .raw("12345678901234567890")] {
            #expect(try sums([Outbrain.with([field: there])], "paid", "organic") == [1, 1])
        }
        for absent: Document? in [nil, .null, ""] {
            #expect(
                try sums(
                    [Outbrain.with([field: absent, Outbrain.document + ".ads_type": 1])],
                    "paid", "organic") == [0, 2])
        }
    }

    @Test(
        "a recommendation was bought in an auction when its disclosure has an icon and an address")
    func rtb() throws {
        #expect(try sums([Outbrain.with([:])], "rtb") == [1])
        for part in ["icon", "url"] {
            for absent: Document? in [nil, .null, ""] {
                let field = Outbrain.document + ".disclosure." + part
                #expect(try sums([Outbrain.with([field: absent])], "rtb") == [0])
            }
        }
    }

    @Test("an answer is the same wrapped as Outbrain sends it, and unwrapped")
    func wrapping() throws {
        let unwrapped = Outbrain.with(["response": Outbrain.recommendations[Outbrain.answer]])
        let wrapped = Outbrain.with([:])
        #expect(
            try foldImpressions([wrapped]).rows("impressions")
                == foldImpressions([unwrapped]).rows("impressions"))
        #expect(try foldImpressions([wrapped, unwrapped]).outcome(.duplicates) == 1)
    }

    @Test("what Weir does not read of an answer may be of any type, as the opt-out is")
    func opaqueMembers() throws {
        for value: Document in [true, "false", 0, .null, [], [:]] {
            let record = Outbrain.with([
                Outbrain.answer + ".request.oo": value, Outbrain.answer + ".settings": value,
                Outbrain.document + ".same_source": value, "request.external_id": value,
            ])
            #expect(try sums([record], "received") == [2])
        }
    }

    @Test("identifiers of an answer mean the same as numbers and as digits")
    func identifiers() throws {
        let path = Outbrain.document + ".sk_adnetwork_data."
        let digits = Outbrain.with([
            Outbrain.document + ".pc_cmp_id": "90120", path + "itunes_item_id": 525_463_029,
            path + "source_app_id": "880047117", "request.widget_index": "0",
        ])
        #expect(
            try foldImpressions([digits]).rows("impressions")
                == foldImpressions([Outbrain.with([:])]).rows("impressions"))
        let text = Outbrain.with([Outbrain.document + ".pc_cmp_id": "spring-sale"])
        #expect(
            try foldImpressions([text]).sum(
                "impressions", "received", where: ["campaign": "spring-sale"]) == 1)
    }

    @Test("the placement is the widget with its index, however large")
    func placements() throws {
        for (index, text) in [
            ("0", "0"), ("7", "7"), ("10", "10"), ("1234567890", "1234567890"),
            ("9223372036854775807", "9223372036854775807"),
            ("1.0", "1"), ("-0", "0"),
        ] {
            let record = Outbrain.with(["request.widget_index": .raw(index)])
            let placements = try foldImpressions([record]).rows("impressions").map {
                $0["placement"]
            }
            #expect(Set(placements) == [.text("SDK_1#" + text)])
        }
    }

    @Test("a listing that an SDK sends again with new ones counts once")
    func listingsSentAgain() throws {
        let records = [
            Outbrain.listings("0", "1"), Outbrain.listings("0", "1", "2"),
            Outbrain.listings("1", "0"), Outbrain.listings(2, 2),
            Outbrain.listings("0", request: "s"),
        ]
        let result = try foldImpressions(records)
        #expect(result.sum("impressions", "viewed") == 4)
        #expect(result.outcome(.accepted) == 3)
        #expect(result.outcome(.duplicates) == 2)
    }

    @Test("a listing that comes twice in one record counts once")
    func listingTwice() throws {
        #expect(try sums([Outbrain.listings("0", 0, "0", "1")], "viewed") == [2])
        // So late that its ids are dead as they come.
        var late = Outbrain.listings("0", 0, request: "late")
        late.timestamp -= 604_800_001
        #expect(try sums([Outbrain.listings("0"), late], "viewed") == [2])
    }

    @Test("a zone may be a number: its digits are the placement")
    func numberedZone() throws {
        for (zone, placement) in [(#"7"#, "7"), ("7.0", "7"), ("-7", "-7"), (#""07""#, "07")] {
            let event: Document = ["impression_id": "a", "zone_id": .raw(zone)]
            let result = try foldImpressions([TestRecord(event, type: "skoverlay.presented")])
            #expect(result.rows("impressions").map { $0["placement"] } == [.text(placement)])
        }
    }

    @Test("listings of two requests are no record of ours: the collector splits them")
    func listingsOfTwoRequests() throws {
        let mixed = TestRecord(
            [
                "widget_id": "w", "widget_index": 0,
                "listings": [
                    ["request_id": "r", "position": 0, "time_elapsed_ms": 1],
                    ["request_id": "s", "position": 0, "time_elapsed_ms": 1],
                ],
            ] as Document, type: "outbrain.listings_viewed")
        let result = try foldImpressions([mixed, Outbrain.listings(0)])
        #expect(result.reasons == ["out_of_range"])
        #expect(result.sum("impressions", "viewed") == 1)
    }

    @Test(
        "half an hour after the request is in time, a millisecond later is stale, for each listing")
    func stale() throws {
        #expect(
            try sums([Outbrain.listings(0, 1, elapsed: 1_800_000)], "viewed", "stale") == [2, 0])
        #expect(
            try sums([Outbrain.listings(0, 1, elapsed: 1_800_001)], "viewed", "stale") == [0, 2])
        // Clocks of devices jump.
        #expect(try sums([Outbrain.listings(0, elapsed: -5)], "viewed", "stale") == [1, 0])
    }

    @Test("test precedes all else, and counts once a record, for answers once a recommendation")
    func testsPrecede() throws {
        let result = try foldImpressions([
            Outbrain.with(["test": true]),
            TestRecord(
                [
                    "request_id": "r", "widget_id": "w", "widget_index": 0, "elapsed_ms": 1_800_001,
                    "test": true,
                ] as Document, type: "outbrain.widget_viewed"),
            try inApp("inapp.loaded", "a", "banner").with(["test": true]),
        ])
        let measures = Set(result.rows("impressions").flatMap(\.keys))
        #expect(result.sum("impressions", "test") == 4)
        #expect(measures.isDisjoint(with: ImpressionsKey.table.measures.filter { $0 != "test" }))
    }

    @Test("ids are tuples of type and impression, or type, request and position")
    func tuples() throws {
        let different = [
            inApp("inapp.impression", "a"), inApp("inapp.handover", "a"),
            inApp("inapp.impression", "A"), inApp("inapp.impression", "a\u{0}"),
            Outbrain.listings("1", request: "r"), Outbrain.listings("11", request: "r"),
            Outbrain.listings("1", request: "r1"),
        ]
        let result = try foldImpressions(different + different)
        #expect(result.outcome(.accepted) == Int64(different.count))
        #expect(result.outcome(.duplicates) == Int64(different.count))
    }

    @Test("an overflow that is refused takes back every listing of the record, and only those")
    func overflowTakesBackListings() throws {
        let fold = ImpressionsFold(
            topic: "impressions",
            rules: .init(
                stream: "impressions", dedupeWindowMilliseconds: 604_800_000,
                maxRecordBytes: 1_048_576),
            parser: try #require(JSONParser()))
        let records = [
            Outbrain.listings(0), Outbrain.listings(0, 1, 2), Outbrain.listings(0, 1, 2),
        ]
        let prepared = fold.prepare(RecordBatch(records))
        try fold.fold(0, of: prepared)
        fold.clear()
        try fold.fold(1, of: prepared)
        fold.rejectOverflow(1, of: prepared)
        #expect(fold.effects.refused.map(\.reason) == ["overflow"])
        #expect(fold.deltas[0].count == 0)
        #expect(fold.windows[0]?.heldCount == 1)
        #expect(fold.windows[0]?.admitted.isEmpty == true)
        fold.clear()
        try fold.fold(2, of: prepared)
        #expect(fold.windows[0]?.admitted.count == 2)
    }
}

extension TestRecord {
    /// The record with some members of its value set.
    fileprivate func with(_ changes: KeyValuePairs<String, Document?>) throws -> TestRecord {
        var record = self
        let document = try Document(text: String(decoding: value ?? [], as: UTF8.self))
        record.value = Array(document.with(changes).text.utf8)
        return record
    }
}
