\echo Use "CREATE EXTENSION profstore" to load this file. \quit

