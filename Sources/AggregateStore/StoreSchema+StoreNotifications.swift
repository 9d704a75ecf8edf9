extension StoreSchema {
    static let storeNotifications =
        common + """
            CREATE TABLE store_notifications_keys (
              -- Accepted notifications of the App Store, and what receipts add.
              row INTEGER PRIMARY KEY,
              partition INTEGER NOT NULL,
              hour TEXT NOT NULL, -- of the record's timestamp, UTC
              environment TEXT NOT NULL, -- 'Production', 'Sandbox', and where they are allowed 'Xcode', 'LocalTesting'
              bundle_id TEXT NOT NULL,
              product_id TEXT NOT NULL,
              storefront TEXT NOT NULL, -- country, three letters; '' in version 1
              currency TEXT NOT NULL, -- '' in version 1
              offer TEXT NOT NULL, -- '', 'introductory', 'promotional:<id>', 'code:<name>', 'win_back:<id>', 'retention:<id>'
              ownership TEXT NOT NULL, -- 'purchased', 'family', 'assigned', 'other'; '' without a transaction
              UNIQUE (partition, hour, environment, bundle_id, product_id, storefront, currency,
                offer, ownership)
            ) STRICT;

            CREATE TABLE store_notifications_sums (
              row INTEGER PRIMARY KEY, -- of store_notifications_keys
              initial_buys INTEGER NOT NULL,
              trials INTEGER NOT NULL, -- of initial_buys
              resubscribes INTEGER NOT NULL,
              renewals INTEGER NOT NULL,
              recoveries INTEGER NOT NULL, -- renewed after a failure
              renewal_failures INTEGER NOT NULL,
              grace_periods INTEGER NOT NULL, -- of renewal_failures
              grace_period_expirations INTEGER NOT NULL,
              expirations_voluntary INTEGER NOT NULL,
              expirations_billing INTEGER NOT NULL,
              expirations_price INTEGER NOT NULL,
              expirations_other INTEGER NOT NULL,
              auto_renew_on INTEGER NOT NULL,
              auto_renew_off INTEGER NOT NULL,
              preference_changes INTEGER NOT NULL,
              upgrades INTEGER NOT NULL, -- of preference_changes
              downgrades INTEGER NOT NULL, -- of preference_changes
              offers_redeemed INTEGER NOT NULL,
              refunds INTEGER NOT NULL,
              upgrade_cancellations INTEGER NOT NULL, -- cancelled by an upgrade: no money was asked back
              refund_reversals INTEGER NOT NULL,
              refunds_declined INTEGER NOT NULL,
              family_revocations INTEGER NOT NULL,
              assignment_revocations INTEGER NOT NULL, -- in their place, for assigned seats
              consumption_requests INTEGER NOT NULL,
              price_increases_pending INTEGER NOT NULL,
              price_increases_accepted INTEGER NOT NULL,
              one_time_purchases INTEGER NOT NULL,
              renewal_extension_summaries INTEGER NOT NULL,
              renewal_extension_failures INTEGER NOT NULL,
              external_tokens_created INTEGER NOT NULL,
              external_tokens_reminded INTEGER NOT NULL,
              external_tokens_unreported INTEGER NOT NULL,
              consents_rescinded INTEGER NOT NULL,
              metadata_updates INTEGER NOT NULL,
              migrations INTEGER NOT NULL,
              price_changes INTEGER NOT NULL,
              renewals_extended INTEGER NOT NULL,
              tests INTEGER NOT NULL,
              other INTEGER NOT NULL, -- of an unknown type or subtype
              gross_micros INTEGER NOT NULL, -- what customers paid, in millionths of the unit; version 2 only
              refunded_micros INTEGER NOT NULL -- what they got back, less what was reversed; version 2 only
            ) STRICT;

            CREATE VIEW store_notifications AS SELECT * FROM store_notifications_keys JOIN store_notifications_sums USING (row);

            CREATE TABLE notification_ids (
              -- Every notification and receipt ever accepted.
              partition INTEGER NOT NULL,
              id BLOB NOT NULL, -- first 16 bytes of SHA-256 of the id's tuple
              offset INTEGER NOT NULL, -- where it was accepted
              PRIMARY KEY (partition, id)
            ) STRICT, WITHOUT ROWID;

            CREATE TABLE refunds (
              -- What was counted of the cancellations of a transaction, so that none counts twice.
              partition INTEGER NOT NULL,
              transaction_id ANY NOT NULL, -- a number, or the bytes of a text that is none
              cancellations TEXT NOT NULL, -- in order of folding: 'ms=micros', without micros once nothing can be taken back
              early_reversals INTEGER NOT NULL, -- reversals that came before their refund
              PRIMARY KEY (partition, transaction_id)
            ) STRICT, WITHOUT ROWID;
            """
}
