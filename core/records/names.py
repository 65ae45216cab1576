"""The names that columns of tables and keys of objects have for the fields of a record.

Each field lists its names, the best first: of several that a header has, the first is used. Readers
and tasks choose the fields that they need. ``columns`` finds the names in a header.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Names = Mapping[str, Sequence[str]]
"""For each field, the names that its column or key may have."""

ANY_TABLE: Names = {
    "docid": "id nr number key رقم الرقم المعرف номер número kimlik numéro kennung".split(),
    "text": (
        "text content body claim statement finding النص نص المحتوى الادعاء текст съдържание "
        "твърдение утверждение заявление texto contenido afirmación metin içerik iddia inhalt "
        "behauptung aussage texte contenu affirmation claim_text tweet_text tweet_content "
        "full_text tweet"
    ).split(),
    "title": (
        "title headline العنوان عنوان заглавие заголовок título titular başlık titel überschrift "
        "titre"
    ).split(),
    "url": (
        "url link address الرابط رابط връзка адрес ссылка enlace bağlantı adres lien adresse"
    ).split(),
    "date": "date published التاريخ تاريخ дата fecha tarih datum".split(),
    "language": "language lang اللغة لغة език язык idioma dil sprache langue".split(),
    "source": "source publisher المصدر مصدر източник источник fuente kaynak quelle".split(),
    "topic": "topic subject الموضوع موضوع тема tema konu thema sujet".split(),
    "rating": (
        "rating verdict ruling conclusion fact_check_rating الحكم التقييم النتيجة вердикт оценка "
        "veredicto calificación valoración conclusión karar sonuç bewertung urteil ergebnis "
        "évaluation"
    ).split(),
    # what a fact-checker found
    "explanation": (
        "explanation what_we_found our_finding our_findings findings review_body reasoning reason "
        "rationale justification analysis assessment summary abstract description "
        "التفسير الشرح التوضيح ما_وجدناه الملخص обяснение резюме пояснение объяснение "
        "explicación resumen "
        "qué_encontramos açıklama özet bulgular erklärung begründung erläuterung einschätzung "
        "zusammenfassung was_wir_fanden explication résumé analyse ce_que_nous_avons_trouvé"
    ).split(),
}
"""Names of columns in tables without a fixed format, in eight languages."""

SNIPPETS: Names = {
    "docid": "snippet_id docid par_id passage_id paragraph_id sentence_id identifier id".split(),
    "text": "snippet_text snippet text passage paragraph sentence content contents body".split(),
    "topic": "topic_id topic".split(),
    "page": "page_id page".split(),
    "url": "url link".split(),
    "title": "title headline".split(),
    "date": "date published".split(),
    "language": "language lang".split(),
    "source": ["source"],
}

VERIFIED_CLAIMS: Names = {
    # R puts row numbers into a column without a name.
    "docid": [*"vclaim_id claim_id docid id".split(), ""],
    "text": "vclaim claim text".split(),
    "title": ["title"],
    "url": "url page_url link".split(),
    "date": "date published publish_date review_date".split(),
    "language": "language lang".split(),
    "source": "source publisher site".split(),
    "topic": "topic topic_id".split(),
    "subtitle": ["subtitle"],
    "author": ["author"],
    "rating": "rating verdict".split(),
    "label": ["label"],
    "verdict": ["verdict"],
    "explanation": "explanation what_we_found review_body".split(),
}

CLAIM_REVIEWS: Names = {
    "docid": "docid id @id".split(),
    "claimReviewed": "claimReviewed claim_reviewed claim text".split(),
    "headline": "headline name title review_title".split(),
    "url": "url review_url link".split(),
    "datePublished": "datePublished review_date date".split(),
    "inLanguage": "inLanguage languageCode language".split(),
    "author.name": (
        "author.name author publisher publisher.name fact_checker checked_by checker"
    ).split(),
    "author.url": "author.url publisher.url publisher_url publisher.site".split(),
    "author.image": "author.image publisher_image".split(),
    "reviewRating.alternateName": (
        "reviewRating.alternateName textualRating rating reviewRating"
    ).split(),
    "reviewRating.ratingValue": "reviewRating.ratingValue ratingValue rating_value".split(),
    "reviewRating.bestRating": "reviewRating.bestRating bestRating best_rating".split(),
    "reviewRating.worstRating": "reviewRating.worstRating worstRating worst_rating".split(),
    "reviewRating.ratingExplanation": (
        "reviewRating.ratingExplanation explanation what_we_found"
    ).split(),
    "reviewBody": ["reviewBody"],
    "itemReviewed.author.name": "itemReviewed.author.name claimant claim_author".split(),
    "itemReviewed.author.jobTitle": "itemReviewed.author.jobTitle claimant_job".split(),
    "itemReviewed.author.sameAs": "itemReviewed.author.sameAs claimant_page".split(),
    "itemReviewed.datePublished": "itemReviewed.datePublished claimDate claim_date".split(),
    "itemReviewed.firstAppearance.url": (
        "itemReviewed.firstAppearance.url firstAppearance"
    ).split(),
    "itemReviewed.appearance.url": "itemReviewed.appearance.url appearance".split(),
}
"""The column names of each property of schema.org's ClaimReview."""

DOCUMENTS: Names = {
    "docid": "docid id _id".split(),
    "text": "text contents".split(),
    "title": ["title"],
    "url": ["url"],
    "date": ["date"],
    "language": ["language"],
    "source": ["source"],
    "topic": ["topic"],
}
"""The keys of documents as JSON lines."""

BEIR_DOCUMENTS: Names = {"docid": ["_id"], "text": ["text"], "title": ["title"]}

QUERIES: Names = {
    "qid": (
        "qid query_id queryid _id id tweet_id tweetid id_str post_id claim_id claimid topic_id "
        "topicid topic number num nr no"
    ).split(),
    "text": (
        "query query_text text tweet_text tweet_content full_text tweet claim claim_text "
        "statement question title content contents sentence"
    ).split(),
    "date": "date created_at claim_date".split(),
}

TAGGED_QUERIES: Names = {
    "qid": "num number id qid topic_id query_id identifier".split(),
    "text": "query title text question content desc description".split(),
}
"""The elements and attributes of topics of TREC and XML."""

QRELS: Names = {
    "qids": (
        "qid query_id queryid topic_id topicid topic claim_id claimid query claim post_id "
        "tweet_id tweetid question_id q"
    ).split(),
    "docids": (
        "docid doc_id docno corpus_id document_id document doc did passage_id pid snippet_id "
        "pageid page_id paper_id cord_uid article_id pmid vclaim_id d"
    ).split(),
    "relevance": "relevance rel score label grade judgement judgment relevancy".split(),
}

SUBTOPICS = ("subtopic", "subtopic_id", "iteration", "intent", "aspect")
"""The names of the column of judgements that names a subtopic of the query."""

TWEETS: Names = {
    "tweet_id": "tweet_id tweetid id_str id".split(),
    "text": "tweet_text full_text text".split(),
    "topic": "topic_id topicid topic".split(),
    # whether a tweet is worth checking
    "label": "check_worthiness claim_worthiness".split(),
    "date": "date created_at".split(),
    # whether a tweet's claim is true
    "verdict": "label verdict".split(),
}

LABELLED_CLAIMS: Names = {
    "topicID": "topicid topic_id topic".split(),
    "tweetID": "tweetid tweet_id tweet claimid claim_id id_str id".split(),
    "label": TWEETS["verdict"],
}
"""The columns of the gold of CheckThat! 2020 task 4."""

JUDGED_SNIPPETS: Names = {
    "topicID": "topicid topic_id topic".split(),
    "tweetID": "tweetid tweet_id tweet".split(),
    "snippetID": "snippetid snippet_id snippet".split(),
    "label": QRELS["relevance"],
}
"""The columns of the gold of CheckThat! 2020 task 3."""
