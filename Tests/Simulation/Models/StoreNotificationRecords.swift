import EventLog
import Foundation
import TestKit

/// The member in which a notification of version 2 says of which app it speaks. Only `data` has purchases.
enum StoreHolder: String {
    case data, summary, appData, externalPurchaseToken
}

/// A type and subtype of version 2, and what counts it.
struct StoreKind {
    var type: String
    var subtype: String?
    var measure: String
    /// Counted too.
    var detail: String?
    /// `revocationType` of the transaction.
    var revocation: String?
    var holder: StoreHolder

    init(
        _ type: String, _ subtype: String?, _ measure: String, _ detail: String? = nil,
        revocation: String? = nil, in holder: StoreHolder = .data
    ) {
        self.holder = holder
        self.type = type
        self.subtype = subtype
        self.measure = measure
        self.detail = detail
        self.revocation = revocation
    }

    /// Whether its price is revenue.
    var isSale: Bool {
        ["SUBSCRIBED", "DID_RENEW", "ONE_TIME_CHARGE"].contains(type)
            || ["DID_CHANGE_RENEWAL_PREF", "OFFER_REDEEMED"].contains(type) && subtype == "UPGRADE"
    }

    static let all = [
        StoreKind("SUBSCRIBED", "INITIAL_BUY", "initial_buys"),
        StoreKind("SUBSCRIBED", "RESUBSCRIBE", "resubscribes"),
        StoreKind("SUBSCRIBED", nil, "other"),
        StoreKind("DID_RENEW", nil, "renewals"),
        StoreKind("DID_RENEW", "BILLING_RECOVERY", "recoveries"),
        StoreKind("DID_RENEW", "LATER", "other"),
        StoreKind("ONE_TIME_CHARGE", nil, "one_time_purchases"),
        StoreKind("EXPIRED", "VOLUNTARY", "expirations_voluntary"),
        StoreKind("EXPIRED", "BILLING_RETRY", "expirations_billing"),
        StoreKind("EXPIRED", "PRICE_INCREASE", "expirations_price"),
        StoreKind("EXPIRED", "PRODUCT_NOT_FOR_SALE", "expirations_other"),
        StoreKind("EXPIRED", nil, "expirations_other"), StoreKind("EXPIRED", "LATER", "other"),
        StoreKind("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED", "auto_renew_on"),
        StoreKind("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", "auto_renew_off"),
        StoreKind("DID_CHANGE_RENEWAL_STATUS", nil, "other"), StoreKind("GIFTED", nil, "other"),
        StoreKind("TEST", nil, "tests"),
        StoreKind("DID_FAIL_TO_RENEW", nil, "renewal_failures"),
        StoreKind("DID_FAIL_TO_RENEW", "GRACE_PERIOD", "renewal_failures", "grace_periods"),
        StoreKind("DID_FAIL_TO_RENEW", "LATER", "other"),
        StoreKind("GRACE_PERIOD_EXPIRED", nil, "grace_period_expirations"),
        StoreKind("DID_CHANGE_RENEWAL_PREF", nil, "preference_changes"),
        StoreKind("DID_CHANGE_RENEWAL_PREF", "UPGRADE", "preference_changes", "upgrades"),
        StoreKind("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE", "preference_changes", "downgrades"),
        StoreKind("OFFER_REDEEMED", nil, "offers_redeemed"),
        StoreKind("OFFER_REDEEMED", "UPGRADE", "offers_redeemed"),
        StoreKind("OFFER_REDEEMED", "DOWNGRADE", "offers_redeemed"),
        StoreKind("REFUND_DECLINED", nil, "refunds_declined"),
        StoreKind("REVOKE", nil, "family_revocations"),
        StoreKind("REVOKE", nil, "family_revocations", revocation: "FAMILY_REVOKE"),
        StoreKind("REVOKE", nil, "assignment_revocations", revocation: "ASSIGNMENT_REVOKE"),
        StoreKind("CONSUMPTION_REQUEST", nil, "consumption_requests"),
        StoreKind("PRICE_INCREASE", "PENDING", "price_increases_pending"),
        StoreKind("PRICE_INCREASE", "ACCEPTED", "price_increases_accepted"),
        StoreKind("PRICE_INCREASE", nil, "other"),
        StoreKind("RENEWAL_EXTENDED", nil, "renewals_extended"),
        StoreKind("RENEWAL_EXTENSION", "FAILURE", "renewal_extension_failures"),
        StoreKind("METADATA_UPDATE", nil, "metadata_updates"),
        StoreKind("MIGRATION", nil, "migrations"), StoreKind("MIGRATE", nil, "migrations"),
        StoreKind("PRICE_CHANGE", nil, "price_changes"),
        StoreKind(
            "RENEWAL_EXTENSION", "SUMMARY", "renewal_extension_summaries", in: .summary),
        StoreKind("RENEWAL_EXTENSION", nil, "other", in: .summary),
        StoreKind("RESCIND_CONSENT", nil, "consents_rescinded", in: .appData),
    ]
    /// Their environment is that of an id: there is none that nobody signs.
    static let tokens = [
        StoreKind(
            "EXTERNAL_PURCHASE_TOKEN", "CREATED", "external_tokens_created",
            in: .externalPurchaseToken),
        StoreKind(
            "EXTERNAL_PURCHASE_TOKEN", "ACTIVE_TOKEN_REMINDER", "external_tokens_reminded",
            in: .externalPurchaseToken),
        StoreKind(
            "EXTERNAL_PURCHASE_TOKEN", "UNREPORTED", "external_tokens_unreported",
            in: .externalPurchaseToken),
        StoreKind("EXTERNAL_PURCHASE_TOKEN", nil, "other", in: .externalPurchaseToken),
    ]
    /// More often than the others, since they hang on each other.
    static let refunds =
        Array(repeating: StoreKind("REFUND", nil, "refunds"), count: 5)
        + Array(repeating: StoreKind("REFUND_REVERSED", nil, "refund_reversals"), count: 2)
        + [StoreKind("REFUND", "LATER", "other"), StoreKind("REFUND_REVERSED", "LATER", "other")]
}

/// An offer as a row has it and as both versions write it.
struct StoreOffer {
    var column: String
    var isTrial = false
    var version2: StoreWire.Members = []
    /// Nil for what version 1 does not have.
    var version1: StoreWire.Members?

    static let all = [
        StoreOffer(column: "", version1: []),
        StoreOffer(
            column: "introductory", version2: [("offerType", "1")],
            version1: [("is_in_intro_offer_period", "\"true\"")]),
        StoreOffer(
            column: "introductory", isTrial: true,
            version2: [("offerType", "1"), ("offerDiscountType", "\"FREE_TRIAL\"")],
            version1: [("is_trial_period", "\"true\"")]),
        StoreOffer(
            column: "promotional:summer", isTrial: true,
            version2: [
                ("offerType", "2"), ("offerIdentifier", "\"summer\""),
                ("offerDiscountType", "\"FREE_TRIAL\""),
            ],
            version1: [("promotional_offer_id", "\"summer\""), ("is_trial_period", "\"true\"")]),
        StoreOffer(
            column: "code:ten", version2: [("offerType", "3"), ("offerIdentifier", "\"ten\"")],
            version1: [("offer_code_ref_name", "\"ten\"")]),
        StoreOffer(
            column: "win_back:w", version2: [("offerType", "4"), ("offerIdentifier", "\"w\"")]),
        StoreOffer(
            column: "retention:r", version2: [("offerType", "5"), ("offerIdentifier", "\"r\"")]),
        StoreOffer(column: "", version2: [("offerType", "9"), ("offerIdentifier", "\"x\"")]),
    ]
}

/// An ownership as a row has it and as both versions write it.
struct StoreOwnership {
    var column: String
    /// Nil for none.
    var word: String?

    static let all = [
        StoreOwnership(column: "purchased"), StoreOwnership(column: "purchased", word: "PURCHASED"),
        StoreOwnership(column: "family", word: "FAMILY_SHARED"),
        StoreOwnership(column: "assigned", word: "ASSIGNED"),
        StoreOwnership(column: "other", word: "LEASED"), StoreOwnership(column: "other", word: ""),
    ]
}

extension StoreNotificationsModel {
    mutating func makeRecord(using random: inout SeededGenerator) -> ModelRecord<Meaning> {
        count += 1
        // A few lines at a time, so that refunds of one transaction meet.
        let line = count / 40 + random.below(6)
        let roll = random.below(100)
        if roll < 15, !sent.isEmpty { return random.pick(sent) }
        let record =
            switch roll {
            case ..<32: Self.signed(using: &random)
            case ..<62: version2(ofLine: line, using: &random)
            case ..<84: Self.version1(ofLine: line, using: &random)
            case ..<91: Self.receipt(ofLine: line, using: &random)
            default: Self.malformed(key: StoreWire.line(line), using: &random)
            }
        if sent.count == 50 { sent.removeFirst() }
        sent.append(record)
        return record
    }

    private static func signed(using random: inout SeededGenerator) -> ModelRecord<Meaning> {
        let signed = random.pick(StorePool.shared.signed)
        return StoreWire.record(2, key: signed.key, signed.text, signed.content, using: &random)
    }

    /// One of Xcode, which needs no signature where the pipeline lists it: any number can be made.
    private mutating func version2(
        ofLine line: Int, using random: inout SeededGenerator
    ) -> ModelRecord<Meaning> {
        let kind = random.pick(random.chance(60) ? StoreKind.refunds : StoreKind.all)
        var purchase = StoreWire.purchase(ofLine: line, using: &random)
        let from = StoreOrigin(environment: "Xcode", bundle: StoreWire.bundle(of: purchase))
        purchase.cancelledAt = StoreWire.instant(using: &random)
        // Now and then an id comes again with something else in it.
        let id = random.chance(10) ? lastID[purchase.line] : nil
        var notification = StoreNotification(
            id: id ?? "xcode-\(count)", kind: kind, from: from, purchase: purchase)
        lastID[purchase.line] = notification.id
        if kind.type == "TEST" || kind.holder != .data || random.chance(4) {
            notification.purchase = nil
        }
        if random.chance(15) { notification.product = random.pick(["monthly", "weekly"]) }
        var changes = StoreWire.Changes()
        var content = Content.version2(notification)
        if random.chance(8) {
            let (fault, reason) = StoreWire.Changes.rejected(notification, using: &random)
            content = .rejected(reason)
            changes = fault
        } else if random.chance(5) {
            content = .untrusted
            changes = random.pick([
                .init(in: .data, "bundleId", "\"com.example.foreign\""),
                .init(in: .data, "environment", "\"LocalTesting\""),
            ])
            if notification.purchase != nil, random.chance(60) {
                changes = random.pick([
                    .init(in: .transaction, "bundleId", "\"com.example.foreign\""),
                    .init(in: .transaction, "environment", "\"Production\""),
                    .init(in: .transaction, "environment", nil),
                ])
            }
        } else if !kind.isSale, kind.type != "REFUND", random.chance(20) {
            changes = .init(in: .transaction, "price", random.pick(["-1", "\"free\""]))
        }
        let payload = StoreWire.notification(notification, changes) {
            "{\"alg\":\"ES256\"}".utf8.base64URL + "." + $0.utf8.base64URL + ".AAAA"
        }
        return StoreWire.record(
            2, key: purchase.line, "{\"signedPayload\":\"\(payload)\"}", content, using: &random)
    }

    private static func version1(
        ofLine line: Int, using random: inout SeededGenerator
    ) -> ModelRecord<Meaning> {
        let others = [
            "INITIAL_BUY", "DID_RENEW", "INTERACTIVE_RENEWAL", "DID_RECOVER", "UPSELL", "RENEWAL",
            "DID_FAIL_TO_RENEW", "DID_CHANGE_RENEWAL_PREF", "CONSUMPTION_REQUEST",
            "PRICE_INCREASE_CONSENT", "REVOKE",
        ]
        let type = random.pick(
            random.chance(40) ? StoreBody.refunds : others + ["DID_CHANGE_RENEWAL_STATUS"])
        let purchases = StoreWire.history(around: line, using: &random)
        var body = StoreBody(
            type: type,
            from: StoreOrigin(
                environment: random.pick(["Production", "Sandbox"]),
                bundle: StoreWire.bundle(of: purchases[0])),
            line: purchases.first { $0.line == StoreWire.line(line) }?.line, purchases: purchases)
        if random.chance(20) { body.line = nil }
        if random.chance(15) {
            body.line = random.pick(purchases).line
            body.object = random.pick(["latest_receipt_info", "latest_expired_receipt_info"])
        }
        if random.chance(30) {
            body.cancellation = (
                random.pick(purchases).order ?? "", StoreWire.instant(using: &random)
            )
        }
        if type == "DID_CHANGE_RENEWAL_STATUS" {
            let at = random.chance(20) ? nil : StoreWire.instant(using: &random)
            body.change = (random.pick([true, false, nil]), at)
        }
        let undated = "{\"transaction_id\":\"1\",\"purchase_date_ms\":\"soon\"}"
        var changes: StoreWire.Members = []
        var content = Content.version1(body)
        if random.chance(8) {
            content = .untrusted
            changes = random.pick([
                [("password", "\"secret of nobody\"")], [("password", nil)],
                [("bid", "\"com.example.foreign\"")],
                [("environment", "\"LocalTesting\"")], [("environment", "\"Moon\"")],
            ])
        } else if random.chance(6) {
            let faults: [(StoreWire.Members, ContractReason)] = [
                ([("notification_type", nil)], .missingField),
                ([("notification_type", "5")], .wrongType),
                ([("environment", nil), ("unified_receipt", nil)], .missingField),
                (
                    [
                        ("original_transaction_id", nil), ("unified_receipt", nil),
                        ("latest_receipt_info", nil), ("latest_expired_receipt_info", nil),
                        ("cancellation_date_ms", nil), ("auto_renew_status_change_date_ms", nil),
                    ], .missingField
                ),
                (
                    [("unified_receipt", "{\"latest_receipt_info\":[\(undated)]}")], .wrongType
                ),
            ]
            let (fault, reason) = random.pick(faults)
            (content, changes) = (.rejected(reason), fault)
        }
        return StoreWire.record(
            1, key: body.id[2], StoreWire.body(body, changes, using: &random), content,
            using: &random)
    }

    private static func receipt(
        ofLine line: Int, using random: inout SeededGenerator
    ) -> ModelRecord<Meaning> {
        let lists = (0..<3).map { _ in StoreWire.history(around: line, using: &random) }
        var from = StoreOrigin(environment: "Production", bundle: StoreWire.bundle(of: lists[0][0]))
        if random.chance(30) { from.environment = "Sandbox" }
        let isUntrusted = random.chance(10)
        let isOld = from.environment == "Production" && random.chance(50)
        let text = StoreWire.object([
            ("status", "0"), ("environment", isOld ? nil : "\"\(from.environment)\""),
            ("latest_receipt_info", StoreWire.list(lists[0], using: &random)),
            ("latest_expired_receipt_info", StoreWire.version1(lists[1][0], using: &random)),
            (
                "receipt",
                StoreWire.object([
                    ("bundle_id", "\"\(isUntrusted ? "com.example.foreign" : from.bundle)\""),
                    ("in_app", StoreWire.list(lists[2], using: &random)),
                ])
            ),
        ])
        let content = Content.receipt(
            line: StoreWire.line(line), text: text, from: from,
            lists[0] + [lists[1][0]] + lists[2])
        var record = StoreWire.record(
            0, key: StoreWire.line(line), text, isUntrusted ? .untrusted : content, using: &random)
        if !isUntrusted, random.chance(8) {
            record.key = random.pick([nil, []])
            record.meaning.content = .rejected(.missingField)
        }
        return record
    }

    private static func malformed(
        key: String, using random: inout SeededGenerator
    ) -> ModelRecord<Meaning> {
        let deep = String(repeating: "[", count: 65) + String(repeating: "]", count: 65)
        let body = random.pick(["", "{", "[]", "7", "{\"a\":1e999}", "{\"a\":\"\\ud800\"}", deep])
        var reason: ContractReason =
            ["[]", "7"].contains(body) ? .wrongType : body == deep ? .tooDeep : .malformedJSON
        var record = StoreWire.record(
            random.below(3), key: key, body, .rejected(reason), using: &random)
        switch random.below(5) {
        case 0:
            record.value = nil
            reason = .tombstone
        case 1:
            record.value = [0x22, 0xFF, 0x22]
            reason = .invalidUTF8
        case 2:
            let isText = random.chance(67)
            let body =
                isText ? random.pick(["{}", "{\"signedPayload\":null}"]) : "{\"signedPayload\":7}"
            reason = isText ? .missingField : .wrongType
            record = StoreWire.record(2, key: key, body, .rejected(reason), using: &random)
        case 3:
            if reason == .wrongType { reason = .unknownType }
            record.meaning.type = "unknown"
            record.headers =
                random.chance(50)
                ? [.init("ce_type", random.pick(["appstore.notification.v3", ""]))]
                : record.headers + [.init("content-type", "application/cloudevents+json")]
        default:
            if random.chance(3) {
                record.value = Array(repeating: 0x20, count: 1 << 20 | 1)
                reason = .tooLarge
            }
        }
        record.meaning.content = .rejected(reason)
        return record
    }

    /// A record without the secrets by which those who have them know Apple; nil when it has none.
    static func masked(_ value: UnsafeRawBufferPointer) -> [UInt8]? {
        let text = String(decoding: value, as: UTF8.self)
        let masked = ["secret", "other", "secret of maps", "secret of nobody"].reduce(text) {
            $0.replacing("\"password\":\"\($1)\"", with: "\"password\":\"***\"")
        }
        return masked == text ? nil : Array(masked.utf8)
    }

    /// Has the program trust the chain of the pool, and Xcode.
    static func writeConfiguration(to directory: String) throws {
        let text = """
            topic: store-notifications
            roots: [simulation-root.pem]
            environments: [Production, Sandbox, Xcode]
            apps:
              - {bundle_id: com.example.rides, app_apple_id: 525463029, shared_secrets: [other, secret]}
              - {bundle_id: com.example.maps, shared_secrets: [secret of maps]}

            """
        try text.write(
            toFile: "\(directory)/store-notifications.yaml", atomically: true, encoding: .utf8)
        try StorePool.shared.chain.rootPEM.write(
            toFile: "\(directory)/simulation-root.pem", atomically: true, encoding: .utf8)
    }
}
